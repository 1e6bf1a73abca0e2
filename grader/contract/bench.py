"""What a check works with: the exercise, the subject, seeded draws, and the reference's answers."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Literal

import torch
from torch import Tensor

from grader.contract.check import Failed, failed_call
from grader.contract.difference import difference
from grader.contract.foresight import kept, same_question
from grader.contract.memory import memory_of, once, once_for_all
from grader.inputs import Draw, Sample
from grader.subject import Args, Grads, Layout, Observation, Probe, Subject

if TYPE_CHECKING:
    from grader.exercise import Contract, Exercise

__all__ = ["Bench", "Runs", "Way"]

Way = Literal["backward", "frozen", "no_grad"]
"""How a common sample is run: forward and backward, forward with no input that requires grad, or under no_grad."""
Runs = dict[tuple[int, Way], tuple[Args, Observation]]
"""What became of the common samples, by the id of their arguments."""
COMMON = "common"


class _Recorder:
    """A subject that remembers what it was asked, the last for a failure to be repeated by hand, and takes the answers
    that were foreseen."""

    def __init__(self, subject: Subject, foreseen: Sequence[tuple[Probe, Observation]], noted: list[Probe] | None):
        self.subject, self.noted = subject, noted
        self.last: Probe | Args | None = None
        self.is_function = subject.is_function
        self._foreseen = list(foreseen)

    def observe(self, probe: Probe) -> Observation:
        return self.observe_each([probe])[0]

    def observe_each(self, probes: Sequence[Probe]) -> list[Observation]:
        if self.noted is not None:
            self.noted += kept(probes)
        if probes:
            self.last = probes[-1]
        seen = self._known(probes)
        if len(seen) < len(probes) and not (seen and seen[-1].failure is not None):
            seen += self.subject.observe_each(probes[len(seen) :])
        return seen

    def _known(self, probes: Sequence[Probe]) -> list[Observation]:
        """The foreseen answers to the first of the probes, up to one that failed."""
        seen: list[Observation] = []
        for probe in probes:
            if not self._foreseen or not same_question(self._foreseen[0][0], probe):
                self._foreseen.clear()
                break
            seen.append(self._foreseen.pop(0)[1])
            if seen[-1].failure is not None:
                break
        return seen

    def call(self, args: Args, layout: Layout = "contiguous", before: Args | None = None) -> Observation:
        self.last = args
        return self.subject.call(args, layout, before)

    def claims(self, rule: Literal["vmap", "jvp"]) -> bool:
        return self.subject.claims(rule)

    def watched(self, seconds: float) -> AbstractContextManager[list[str]]:
        return self.subject.watched(seconds)


class Bench:
    """What a check works with: the exercise, the subject, seeded draws, and the reference's answers."""

    def __init__(
        self,
        exercise: Exercise,
        subject: Subject,
        seed: int,
        check_id: str = "",
        *,
        known: Runs | None = None,
        foreseen: Sequence[tuple[Probe, Observation]] = (),
        noted: list[Probe] | None = None,
    ) -> None:
        """The benches of one battery share `known`, what became of the common samples. Answers that are `foreseen` are
        taken, and what is asked is `noted`."""
        self.exercise, self.seed, self.check_id = exercise, seed, check_id
        self.subject = _Recorder(subject, foreseen, noted)
        self.memory = memory_of(exercise, seed)
        self.known: Runs = {} if known is None else known

    @property
    def contract(self) -> Contract:
        return self.exercise.contract

    def draw(self, salt: str = "") -> Draw:
        """A source of tensors that depends on the run's seed, the exercise, the check and `salt` alone."""
        key = f"{self.seed}/{self.exercise.id}/{self.check_id}/{salt}".encode()
        return Draw(int.from_bytes(hashlib.blake2b(key, digest_size=7).digest(), "big"))

    # ---- samples -------------------------------------------------------------------------------------------------

    @once
    def generic(self, salt: str = "", small: bool = False) -> Args:
        """One honest sample whose gradient is not all zeros, which nothing multiplied into it could change."""
        make = self.exercise.inputs.small if small and self.exercise.inputs.small else self.exercise.inputs.generic
        for attempt in range(8):
            args = make(self.draw(f"generic {salt}" if attempt == 0 else f"generic {salt} again {attempt}"))
            if self.exercise.reference.vjp is None or self._has_gradient(args):
                break
        return args

    def _has_gradient(self, args: Args) -> bool:
        grads = self.right_grads(args, self.upstream(args))
        return all(g is None or bool((g != 0).any()) for g in grads)

    # Common samples: the same for all checks, which therefore share what becomes of them (`runs`).

    @property
    def common(self) -> Bench:
        """The bench that the common samples and their upstream gradients come from."""
        return Bench(self.exercise, self.subject.subject, self.seed, COMMON, known=self.known)

    @once_for_all
    def ordinary(self) -> tuple[Sample, ...]:
        """Two honest samples."""
        return tuple(Sample("an ordinary input", self.common.generic(str(k))) for k in range(2))

    @once_for_all
    def variants(self) -> tuple[Sample, ...]:
        """The variants: other arguments, ranks, broadcastings."""
        return tuple(self.exercise.inputs.variants(self.common.draw("variants")))

    @once_for_all
    def edges(self) -> tuple[Sample, ...]:
        """The edges: 0-d, one element, empty."""
        return tuple(self.exercise.inputs.edges(self.common.draw("edges")))

    @once_for_all
    def large(self) -> tuple[Sample, ...]:
        """The large sample, where there is one."""
        make = self.exercise.inputs.large
        return () if make is None else (Sample("a large input", make(self.common.draw("large"))),)

    @once_for_all
    def extreme(self) -> tuple[Sample, ...]:
        """The extreme magnitudes that the exercise lists."""
        return tuple(self.exercise.inputs.extreme)

    def others(self) -> tuple[Sample, ...]:
        """Variants, edges and the large sample."""
        return (*self.variants(), *self.edges(), *self.large())

    def samples(self, *, edges: bool = True) -> tuple[Sample, ...]:
        """Ordinary samples, variants and, if asked for, edges."""
        return (*self.ordinary(), *self.variants(), *(self.edges() if edges else ()))

    # ---- the reference -------------------------------------------------------------------------------------------

    @once_for_all
    def right_outputs(self, args: Args) -> tuple[Any, ...]:
        with torch.no_grad():
            value = self.exercise.reference.forward(*args)
        return value if isinstance(value, tuple) else (value,)

    @once_for_all
    def right_grads(self, args: Args, upstream: Grads) -> Grads:
        """The reference's gradients, one per argument; undefined upstream gradients count as zeros."""
        assert self.exercise.reference.vjp is not None
        outputs = self.right_outputs(args)
        full = tuple(torch.zeros_like(o) if g is None else g for o, g in zip(outputs, upstream, strict=True))
        with torch.no_grad():
            return tuple(self.exercise.reference.vjp(full[0] if len(full) == 1 else full, *args))

    @once
    def upstream(self, args: Args, salt: str = "", scale: float = 2.0) -> Grads:
        """A random upstream gradient for each output of floating point, of both signs and with large
        entries."""
        draw = self.draw(f"upstream {salt}")
        return tuple(
            draw.normal(*o.shape, scale=scale) if isinstance(o, Tensor) and o.is_floating_point() else None
            for o in self.right_outputs(args)
        )

    # ---- the implementation --------------------------------------------------------------------------------------

    def observe(self, probe: Probe, *, where: str = "") -> Observation:
        """Observe a probe that must go through: a failure of student code is the check's failure."""
        return next(self.observe_each([(probe, where)]))

    def observe_each(self, asked: Sequence[tuple[Probe, str]]) -> Iterator[Observation]:
        """The same for probes that do not depend on each other's answers, each with its `where`: one question."""
        answers = self.subject.observe_each([probe for probe, _ in asked])
        for (probe, where), seen in zip(asked, answers, strict=False):
            self.subject.last = probe
            if seen.failure is not None:
                raise failed_call(seen.failure, where)
            yield seen

    def runs(self, samples: Sequence[Sample], way: Way = "backward", *, forward: bool = False) -> Iterator[Observation]:
        """What became of common samples, each with `common_upstream`: asked once for all checks of a battery.

        Must go through, as with `observe`. `forward`: only the forward matters; where the backward failed it is asked
        alone.
        """
        for sample, seen in zip(samples, self.answers(samples, way), strict=True):
            self.subject.last = self._probe(sample, way)
            if forward and seen.failure is not None and seen.failure.stage != "forward":
                seen = self.observe(Probe(sample.args), where=sample.name)
            if seen.failure is not None:
                raise failed_call(seen.failure, sample.name)
            yield seen

    def answers(self, samples: Sequence[Sample], way: Way = "backward") -> list[Observation]:
        """The same, whether it goes through or not."""
        keys = [(id(sample.args), way) for sample in samples]
        while missing := [s for s, key in zip(samples, keys, strict=True) if key not in self.known]:
            answers = self.subject.observe_each([self._probe(sample, way) for sample in missing])
            for sample, seen in zip(missing, answers, strict=False):  # after one that failed there are no more
                self.known[id(sample.args), way] = sample.args, seen
        return [self.known[key][1] for key in keys]

    def _probe(self, sample: Sample, way: Way) -> Probe:
        if way == "backward":
            return Probe(sample.args, upstream=(self.common_upstream(sample),))
        if way == "frozen":
            return Probe(sample.args, wanted=(False,) * len(sample.args))
        return Probe(sample.args, grad_enabled=False)

    def common_upstream(self, sample: Sample) -> Grads:
        """The upstream gradient that a common sample is run with."""
        return self.common.upstream(sample.args, sample.name)

    def call(self, *args: Any, layout: Layout = "contiguous") -> Any:
        """Call a plain function that must go through; its value or tuple of values."""
        return self.called(*args, layout=layout).value

    def called(self, *args: Any, layout: Layout = "contiguous") -> Observation:
        """The same with all that was seen: the facts say what became of the arguments."""
        seen = self.subject.call(args, layout)
        if seen.failure is not None:
            raise failed_call(seen.failure, "")
        return seen

    # ---- comparisons ---------------------------------------------------------------------------------------------

    def compare_outputs(
        self,
        seen: Observation,
        args: Args,
        *,
        fact: str,
        cause: str = "",
        look: str = "",
        tolerance: float | None = None,
    ) -> None:
        """Fail unless the outputs are the reference's for `args`; `fact` ("For ... the output is wrong") says when."""
        for mine, right in zip(seen.outputs, self.right_outputs(args), strict=True):
            problem = difference(mine, right, tolerance or self.contract.tolerance)
            if problem:
                raise Failed(f"{fact}: {problem}.", cause=cause, look=look)

    def compare(
        self,
        got: Grads,
        expected: Grads,
        *,
        where: str,
        cause: str = "",
        look: str = "",
        tolerance: float | None = None,
    ) -> None:
        """Fail unless each expected gradient was delivered; None and zeros are the same."""
        for index, (mine, right) in enumerate(zip(got, expected, strict=True)):
            if right is None:
                continue
            problem = difference(mine, right, tolerance or self.contract.tolerance)
            if problem:
                name = (
                    "the gradient"
                    if sum(e is not None for e in expected) == 1
                    else f"the gradient of argument {index + 1}"
                )
                raise Failed(f"For {where} {name} is wrong: {problem}.", cause=cause, look=look)
