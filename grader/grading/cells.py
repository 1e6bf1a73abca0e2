"""Runs a notebook's code cells in one namespace, as a kernel without IPython: output caught, magics left out."""

from __future__ import annotations

import ast
import builtins
import contextlib
import inspect
import io
import linecache
import re
import sys
import types
import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

from grader.guard import TimeLimit, describe, time_limit
from grader.subject import Failure

__all__ = ["Capped", "Notebook", "Ran"]

OUTPUT_BYTES = 90_000  # of the 100,000 that a text on the wire may have
_AWAIT = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
_RUNS_ITS_BODY = ("time", "timeit", "capture", "prun")


class Ran(NamedTuple):
    """What a cell showed, and how it failed if it did."""

    output: str
    failure: Failure | None


class Notebook:
    """The namespace `__main__` of a submission."""

    def __init__(self) -> None:
        self.module = types.ModuleType("__main__")
        self.names: dict[str, Any] = self.module.__dict__
        self.names |= {"display": _display, "get_ipython": _NoShell}
        sys.modules["__main__"] = self.module
        builtins.input = _no_input

    def run(self, source: str, name: str, seconds: float) -> Ran:
        """Run one cell, at most so many seconds of processor time."""
        shown = Capped(OUTPUT_BYTES)
        failure = None
        with contextlib.redirect_stdout(shown), contextlib.redirect_stderr(shown), _warnings_printed():
            try:
                with time_limit(seconds):
                    self._execute(without_magics(source), f"<{name}>")
            except SyntaxError as error:
                failure = _syntax(error, source)
            except (Exception, SystemExit, KeyboardInterrupt, TimeLimit) as error:
                failure = describe(error, "cell")
        _close_figures()
        return Ran(_within(shown.getvalue(), OUTPUT_BYTES), failure)

    def _execute(self, source: str, file: str) -> None:
        linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
        tree = ast.parse(source, file)
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        self._evaluate(compile(tree, file, "exec", _AWAIT))
        if isinstance(last, ast.Expr):
            value = self._evaluate(compile(ast.Expression(last.value), file, "eval", _AWAIT))
            if not source.rstrip().endswith(";"):
                _display(value)

    def _evaluate(self, code: types.CodeType) -> Any:
        """Run a part of a cell, one that awaits something too."""
        value = eval(code, self.names)
        if code.co_flags & inspect.CO_COROUTINE:
            import asyncio

            return asyncio.run(value)
        return value


class _NoShell:
    """What get_ipython() gives: nothing that is asked of it happens."""

    def __getattr__(self, name: str) -> _NoShell:
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __call__(self, *_: Any, **__: Any) -> _NoShell:
        return self


class Capped(io.StringIO):
    """Text that stops growing at a limit."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self.most, self.size = most, 0

    def write(self, text: str) -> int:
        left = self.most - self.size
        if left > 0:
            super().write(text[:left])
            if len(text) > left:
                super().write("\n[more output was dropped]\n")
        self.size += len(text)
        return len(text)


def _within(text: str, most: int) -> str:
    """The text, cut where its UTF-8 has more than `most` bytes; without what UTF-8 cannot hold."""
    data = text.encode(errors="replace")
    return data.decode() if len(data) <= most else data[:most].decode(errors="ignore") + "\n[more output was dropped]\n"


def _display(*values: Any, **_: Any) -> None:
    for value in values:
        if value is not None:
            print(repr(value))


def _no_input(_prompt: object = "") -> str:
    raise EOFError("input() waits for a keyboard, and nobody sits at it while a notebook is graded")


def without_magics(source: str) -> str:
    """The cell without what only IPython understands, each such line replaced by one that says so."""
    lines = source.splitlines()
    head = re.match(r"\s*%%(\w+)", source)
    if head and head[1] == "writefile":
        return _writes_file(lines)
    if head:
        keep = head[1] in _RUNS_ITS_BODY
        lines = [_note(f"%%{head[1]}"), *(lines[1:] if keep else [])]
    elif not _is_python(source):
        lines = [re.sub(r"^(\s*)([%!].*|\w[\w.]*\?+)\s*$", _noted, line) for line in lines]
    return "\n".join(lines) + "\n"


def _writes_file(lines: list[str]) -> str:
    """What %%writefile does, in Python."""
    options = lines[0].split()[1:]
    mode = "a" if "-a" in options else "w"
    name, text = (options or ["file"])[-1], "\n".join(lines[1:]) + "\n"
    return f"with open({name!r}, {mode!r}) as _file:\n    _file.write({text!r})\n"


def _is_python(source: str) -> bool:
    try:
        ast.parse(source)
    except (SyntaxError, ValueError):
        return False
    return True


def _noted(line: re.Match[str]) -> str:
    return line[1] + ("pass" if line[2].startswith("%matplotlib") else _note(line[2]))


def _note(what: str) -> str:
    return f"print({f'[{what} works in Jupyter only; it is left out while grading]'!r})"


@contextlib.contextmanager
def _warnings_printed() -> Iterator[None]:
    """Warnings of a cell are shown as one line each; that pictures cannot be shown here is none of them."""

    def show(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
        print(f"{category.__name__}: {message}")

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*is non-interactive, and thus cannot be shown")
        warnings.showwarning = show
        yield


def _syntax(error: SyntaxError, source: str) -> Failure:
    lines = source.splitlines()
    number = error.lineno or 0
    line = f"line {number}: {lines[number - 1].strip()}" if 0 < number <= len(lines) else ""
    return Failure("cell", type(error).__name__, error.msg or "invalid syntax", line)


def _close_figures() -> None:
    plots = sys.modules.get("matplotlib.pyplot")
    if plots is not None:
        with contextlib.suppress(Exception):
            plots.close("all")
