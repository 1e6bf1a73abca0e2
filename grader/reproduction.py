"""A failed check as code to run: the very numbers of the probe, for the learner's own notebook."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from grader.subject import Args, Layout, Probe

__all__ = ["names_of", "reproduction"]

MOST_ELEMENTS = 24

_USED = {"given", "other", "y"}


def reproduction(symbol: str, check: str, last: Probe | Args | None, named_as: Callable[..., Any] | None = None) -> str:
    """Python code that repeats what a check did last; "" where it would be too long to read, or could not run.

    `last` is the probe of a Function, or the arguments of a plain function. Numbers are rounded to 5 digits.
    The tensors bear the names of the parameters of `named_as`.
    """
    if last is None:
        return ""
    args = last.args if isinstance(last, Probe) else last
    if not all(_is_short(a) for a in args):
        return ""
    tensors = names_of(named_as, args)
    names = [n if isinstance(a, Tensor) else literal(a) for n, a in zip(tensors, args, strict=True)]
    if not isinstance(last, Probe):
        return "\n".join([*_definitions(args, names, ()), f"{symbol}({', '.join(names)})"])
    wanted = last.wanted or tuple(_floating(a) for a in args)
    lines = _definitions(args, names, wanted)
    if check in ("gradcheck", "surrogate"):
        return "\n".join([*lines, f"torch.autograd.gradcheck({symbol}.apply, ({', '.join(names)},))"])
    call = _run(symbol, last, names, wanted)
    return "\n".join([*lines, *call]) if call else ""


def _run(symbol: str, probe: Probe, names: list[str], wanted: tuple[bool, ...]) -> list[str]:
    if probe.transform != "none" or probe.device != "cpu":
        return []
    leaves = [n for n, w in zip(names, wanted, strict=True) if w]
    edits = probe.meanwhile == "edit_inputs"
    given = ", ".join(f"{n}.clone()" if w and edits else n for n, w in zip(names, wanted, strict=True))
    lines = [f"given = ({given},)", f"y = {symbol}.apply(*given)"] if edits else [f"y = {symbol}.apply({given})"]
    lines += [f"other = {symbol}.apply({', '.join(literal(a) for a in probe.other)})"] if probe.other else []
    lines += ["y.detach().mul_(-0.75).add_(0.375)"] if probe.meanwhile == "edit_outputs" else []
    lines += ["given[0].detach().mul_(-0.75).add_(0.375)"] if edits else []
    for upstream in probe.upstream:
        gradients = [g for g in upstream if g is not None]
        if len(gradients) != 1 or len(upstream) != 1 or not _is_short(gradients[0]):
            return ["y"] if not probe.upstream else []
        lines.append(f"g = {_laid_out(literal(gradients[0]), gradients[0], probe.upstream_layout)}")
        lines.append(f"torch.autograd.grad(y, ({', '.join(leaves)},), g, retain_graph=True)")
    return lines if probe.upstream else [*lines, "y"]


def _definitions(args: Args, names: list[str], wanted: tuple[bool, ...]) -> list[str]:
    lines = []
    for index, (arg, name) in enumerate(zip(args, names, strict=True)):
        if isinstance(arg, Tensor):
            grad = ".requires_grad_()" if index < len(wanted) and wanted[index] else ""
            lines.append(f"{name} = {literal(arg)}{grad}")
    return lines


def names_of(named_as: Callable[..., Any] | None, args: Sequence[Any]) -> list[str]:
    """A name for each argument: that of the parameter, or x, x2, ... where that would not do."""
    try:
        parameters = inspect.signature(named_as).parameters.values() if named_as else ()
    except ValueError:  # some of PyTorch's own functions do not tell
        parameters = ()
    names = [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD][: len(args)]
    if len(names) < len(args) or not _USED.isdisjoint(names):
        return ["x" if index == 0 else f"x{index + 1}" for index in range(len(args))]
    return names


def literal(value: Any) -> str:
    """A Python expression for a plain value or a small tensor."""
    if not isinstance(value, Tensor):
        return repr(value)
    dtype = str(value.dtype)
    if value.numel() == 0:
        return f"torch.empty({tuple(value.shape)}, dtype={dtype})"
    return f"torch.tensor({_nested(value.detach().tolist())}, dtype={dtype})"


def _nested(value: Any) -> str:
    if isinstance(value, list):
        return "[" + ", ".join(_nested(v) for v in value) + "]"
    if isinstance(value, float):
        return f"{value:.5g}" if torch.isfinite(torch.tensor(value)) else f'float("{value}")'
    return repr(value)


def _laid_out(text: str, value: Tensor, layout: Layout) -> str:
    if layout == "expanded" and value.numel():
        return f"torch.tensor({value.flatten()[0].item():.5g}, dtype={value.dtype}).expand({tuple(value.shape)})"
    if layout == "transposed" and value.dim() >= 2:
        return f"{text}.mT.contiguous().mT"
    if layout == "sliced":
        return f"torch.stack([{text}] * 2, dim=-1)[..., 0]"
    return text


def _floating(value: Any) -> bool:
    return isinstance(value, Tensor) and value.is_floating_point()


def _is_short(value: Any) -> bool:
    """Whether the value can be written down: a small tensor, or a plain value that reads back from its repr."""
    if isinstance(value, Tensor):
        return value.numel() <= MOST_ELEMENTS
    return value is None or isinstance(value, (bool, int, float, str))
