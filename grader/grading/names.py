"""A student's names in the trusted process: what a test cell can do with them without running their code here."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

from torch import Tensor

from grader.contract.proxy import proxied
from grader.grading.remote import RemoteSubject
from grader.subject import Description, Elsewhere, Failure, Subject

__all__ = ["MissingName", "Names", "RemoteName", "SubmissionError"]


class SubmissionError(RuntimeError):
    """What the submission did when a test cell used one of its names."""

    def __init__(self, failure: Failure, text: str) -> None:
        super().__init__(text)
        self.failure = failure


class RemoteName(Elsewhere):
    """A class or function of the submission. `.apply(...)` and calls are requests to its process.

    Tensors that require grad get a gradient through it, by requests too, so that gradcheck works on it.
    """

    def __init__(self, name: str, description: Description, subject: RemoteSubject) -> None:
        self.__name__ = name
        self.description, self._subject = description, subject

    def subject(self) -> Subject:
        return self._subject

    def apply(self, *args: Any) -> Any:
        function, _ = proxied(self._subject, args)
        return function(*(a for a in args if isinstance(a, Tensor) and a.is_floating_point()))

    def __call__(self, *args: Any) -> Any:
        if self._subject.is_function:
            return self.apply(*args)
        if any(isinstance(a, Tensor) and a.requires_grad for a in args):
            return self.apply(*args)
        seen = self._subject.call(args)
        if seen.failure is not None:
            raise SubmissionError(seen.failure, f"{self.__name__} raised an error: {seen.failure}")
        return seen.value

    def __repr__(self) -> str:
        return f"<{self.__name__} of the submission, a {self.description.kind}>"


class MissingName(Elsewhere):
    """A name that the submission does not define. A check says so; any other use is an error."""

    def __init__(self, name: str, why: str) -> None:
        self._name = name
        self.description = Description("missing", "", why)

    def subject(self) -> Subject:
        raise self._error()

    def __getattr__(self, name: str) -> Any:
        raise self._error()

    def __call__(self, *_: Any) -> Any:
        raise self._error()

    def _error(self) -> SubmissionError:
        text = f"{self._name} is not defined{self.description.why}"
        return SubmissionError(Failure("call", "NameError", text), text)


class Names(dict[str, Any]):
    """The namespace of test cells: what they define themselves, Python's own names, then the submission's."""

    def __init__(self, find: Callable[[str], Any], **own: Any) -> None:
        super().__init__(own, __name__="__main__", __builtins__=builtins)
        self._find = find

    def __missing__(self, name: str) -> Any:
        if hasattr(builtins, name):
            raise KeyError(name)
        return self._find(name)
