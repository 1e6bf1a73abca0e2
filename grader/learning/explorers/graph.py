"""The autograd graph of a tensor: what backward will visit, walked from grad_fn, with the learner's own nodes named."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

from grader.errors import GraderError
from grader.learning.explorers.explorer import Choice, Picture, explore
from grader.learning.plots import COLORS, TEXT, figure

__all__ = ["EXPRESSIONS", "Graph", "Node", "draw_with", "explore_graph", "walk"]

_MOST = 40


class Sine(Function):
    """sin(x) with a backward of our own, to be seen among PyTorch's nodes."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return torch.sin(x)

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return g * torch.cos(x)


def _layer(x: Tensor) -> dict[str, Tensor]:
    W, b = (torch.ones(shape, requires_grad=True) for shape in ((2, 2), (2,)))
    v = torch.ones(2, requires_grad=True)
    return {"L": torch.relu(v @ W.T + b).sum() * x, "x": x, "W": W, "b": b, "v": v}


EXPRESSIONS: dict[str, Callable[[Tensor], dict[str, Tensor]]] = {
    "x * sin(x)": lambda x: {"L": x * torch.sin(x), "x": x},
    "x * Sine.apply(x), a Function": lambda x: {"L": x * Sine.apply(x), "x": x},  # type: ignore[no-untyped-call]
    "exp(sin(x)), a chain": lambda x: {"L": torch.exp(torch.sin(x)), "x": x},
    "(x + x) * (x - 3)": lambda x: {"L": (x + x) * (x - 3), "x": x},
    "x * sin(x).detach(), a gap": lambda x: {"L": x * torch.sin(x).detach(), "x": x},
    "x * relu(W v + b).sum()": _layer,
}
"""Each gives the result first, then its leaves, by name."""


@dataclass(frozen=True, slots=True)
class Node:
    """A node: its label, "own", "leaf" or "built-in", and how many steps it is from the result at most."""

    label: str
    kind: str
    depth: int


@dataclass(frozen=True, slots=True)
class Graph:
    """Nodes, the result's first, and edges (from, to) by their numbers, in the direction in which gradients go."""

    nodes: tuple[Node, ...]
    edges: tuple[tuple[int, int], ...]
    left_out: int = 0


def explore_graph(**tensors: Tensor) -> None:
    """Show the graph behind an expression, or behind your own tensors: `explore_graph(L=loss, x=x, w=w)`.

    Each tensor with a history can be chosen; the leaves among them give their names to the picture. Raises
    GraderError for something that is no tensor.
    """
    for name, value in tensors.items():
        if not isinstance(value, Tensor):
            raise GraderError(f"explore_graph draws tensors; {name} is of type {type(value).__name__}.")
    own = [name for name, value in tensors.items() if value.grad_fn is not None] or list(tensors)
    explore(draw_with(tensors), {"of": Choice("graph of", (*own, *EXPRESSIONS))})


def walk(result: Tensor, names: Mapping[str, Tensor]) -> Graph:
    """The graph from `result` down to the leaves. A Function's node goes by its class, a leaf by its name."""
    called = {id(tensor): name for name, tensor in names.items()}
    if result.grad_fn is None:
        kind = "leaf" if result.requires_grad else "constant"
        return Graph((Node(called.get(id(result), "tensor"), kind, 0),), ())
    depth = _depths(result.grad_fn)
    shown = sorted(depth, key=lambda node: depth[node])[:_MOST]
    number = {node: k for k, node in enumerate(shown)}
    nodes = tuple(Node(*_label(node, called), depth[node]) for node in shown)
    edges = [(number[a], number[b]) for a in shown for b in _next(a) if b in number]
    return Graph(nodes, tuple(edges), len(depth) - len(shown))


def _next(node: Any) -> list[Any]:
    return [after for after, _ in node.next_functions if after is not None]


def _depths(root: Any) -> dict[Any, int]:
    """Each node's longest way from the root: every edge then leads to a greater depth."""
    order: list[Any] = []  # a node after all that come behind it
    seen, todo = {root}, [(root, iter(_next(root)))]
    while todo:
        node, rest = todo[-1]
        after = next(rest, None)
        if after is None:
            order.append(node)
            todo.pop()
        elif after not in seen:
            seen.add(after)
            todo.append((after, iter(_next(after))))
    depths = dict.fromkeys(order, 0)
    for node in reversed(order):
        for after in _next(node):
            depths[after] = max(depths[after], depths[node] + 1)
    return depths


def _label(node: Any, called: Mapping[int, str]) -> tuple[str, str]:
    variable = getattr(node, "variable", None)
    if variable is not None:
        shape = "×".join(map(str, variable.shape))
        return called.get(id(variable), f"leaf {shape}".strip()), "leaf"
    own = getattr(type(node), "_forward_cls", None)
    if own is not None:
        return own.__name__, "own"
    return node.name().removeprefix("torch::autograd::").split("Backward")[0], "built-in"


def draw_with(tensors: Mapping[str, Tensor]) -> Callable[..., Picture]:
    """The drawing function for these tensors and our own expressions, of what is chosen."""

    def draw_graph(*, of: str) -> Picture:
        if of in tensors:
            name, names = of, tensors
        else:
            names = EXPRESSIONS[of](torch.tensor(1.0, requires_grad=True))
            name = next(iter(names))
        return _picture(name, of, walk(names[name], names))

    return draw_graph


def _picture(name: str, title: str, graph: Graph) -> Picture:
    """The result on the right, leaves on the left; arrows as gradients go."""
    places = _places(graph)
    depth = max(node.depth for node in graph.nodes)
    rows = [y for _, y in places]
    fig, ax = figure(width=9, height=1.4 + 0.55 * (max(rows) - min(rows)), layout="none")
    ax.set_position((0.01, 0.02, 0.98, 0.8))
    boxes = [_box(ax, node, place) for node, place in zip(graph.nodes, places, strict=True)]
    start = ax.text(1.0, places[0][1], name, ha="center", va="center", fontsize=13, color=COLORS[1])
    _arrow(ax, start, boxes[0])
    for k, (a, b) in enumerate(graph.edges):
        _arrow(ax, boxes[a], boxes[b], bend=0.15 * graph.edges[:k].count((a, b)))
    ax.set(xlim=(-depth - 0.5, 1.3), ylim=(min(rows) - 0.6, max(rows) + 0.6), title=_title(title, graph))
    ax.axis("off")
    return Picture(fig, _in_words(title, graph))


def _box(ax: Any, node: Node, place: tuple[float, float]) -> Any:
    color = {"own": COLORS[3], "leaf": COLORS[0]}.get(node.kind, TEXT)
    box = {"boxstyle": "round,pad=0.4", "fc": "none", "ec": color, "lw": 2.2 if node.kind == "own" else 1}
    return ax.text(*place, node.label, ha="center", va="center", color=color, fontsize=10, bbox=box)


def _arrow(ax: Any, start: Any, end: Any, *, bend: float = 0.0) -> None:
    """An arrow between two texts, from the edge of one box to the edge of the other."""
    style = {"arrowstyle": "-|>", "color": COLORS[1], "lw": 1.3, "connectionstyle": f"arc3,rad={bend}"}
    ends = {"patchA": start.get_bbox_patch(), "patchB": end.get_bbox_patch(), "shrinkA": 4, "shrinkB": 4}
    if ends["patchA"] is None:
        ends["shrinkA"] = 12
    ax.annotate("", end.get_position(), start.get_position(), arrowprops={**style, **ends})


def _title(title: str, graph: Graph) -> str:
    if not graph.edges and graph.nodes[0].kind == "constant":
        return f"{title}: no history, so no gradient goes anywhere"
    return f"{title}: the way of the gradients" + (f" ({graph.left_out} more nodes)" if graph.left_out else "")


def _places(graph: Graph) -> list[tuple[float, float]]:
    """A column for each depth; every other one askew where an arrow would run through a node in between."""
    counts = Counter(node.depth for node in graph.nodes)
    depths = [node.depth for node in graph.nodes]
    askew = any(depths[b] - depths[a] > 1 for a, b in graph.edges)
    used, places = Counter[int](), []
    for depth in depths:
        y = (counts[depth] - 1) / 2 - used[depth]
        used[depth] += 1
        places.append((float(-depth), y + (0.35 if askew and depth % 2 else 0.0)))
    return places


def _in_words(title: str, graph: Graph) -> str:
    kinds = {"own": "your own Function", "leaf": "leaf", "constant": "no history", "built-in": "built-in"}
    nodes = ", ".join(f"{node.label} ({kinds[node.kind]})" for node in graph.nodes)
    edges = ", ".join(f"{graph.nodes[a].label} to {graph.nodes[b].label}" for a, b in graph.edges)
    return f"The autograd graph of {title}. Nodes: {nodes}. Gradients go from {edges or 'nowhere to nowhere'}."
