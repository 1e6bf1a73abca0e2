"""`grader doctor`: what isolation and what speed a grading run has on this machine, as facts, a table or JSON."""

from __future__ import annotations

import json
import os
import platform
import shutil
import sys
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from grader.grading.pool import cores
from grader.grading.sandbox import choose_level, try_level

__all__ = ["examine", "report_doctor"]

_CHILDREN = 5
_NEEDS = {"nbgrader": "keeps the gradebook", "alembic": "nbgrader opens a gradebook with it"}


def report_doctor(*, as_json: bool) -> tuple[str, bool]:
    """The examination as text, and whether student code can be shut in here."""
    facts = examine()
    return (json.dumps(facts, indent=2) if as_json else as_table(facts)), facts["sandbox"]["name"] != "none"


def examine() -> dict[str, Any]:
    """Facts about this machine; starts the sandbox for real. Times in seconds and milliseconds, None: not measured."""
    level = choose_level(unsafe=True)
    measured = try_level(level, children=_CHILDREN, module="torch") if os.name == "posix" else {}
    return {
        "sandbox": {**asdict(level), "describe": level.describe()},
        "python": {"version": platform.python_version(), "executable": sys.executable},
        "torch": _version("torch"),
        "cores": cores(),
        "warm_start_seconds": measured.get("warm"),
        "child_milliseconds": measured.get("child"),
        "measuring_failed": None if "warm" in measured else "; ".join(measured.get("broken", ["needs fork"])),
        "found": {name: {"version": _version(name), "command": _command(name)} for name in _NEEDS},
    }


def as_table(facts: dict[str, Any]) -> str:
    """Two columns and, below them, what would make it better."""
    rows = [
        ("sandbox", facts["sandbox"]["describe"]),
        ("Python", f"{facts['python']['version']}, {facts['python']['executable']}"),
        ("torch", facts["torch"] or "not installed"),
        ("cores", str(facts["cores"])),
        ("warm start", _time(facts["warm_start_seconds"], "s, once for each worker")),
        ("each submission", _time(facts["child_milliseconds"], "ms to fork, shut in and clean up")),
        *((name, _found(found, _NEEDS[name])) for name, found in facts["found"].items()),
        ("browser", "not needed for grading"),
    ]
    width = max(len(name) for name, _ in rows)
    lines = [f"{name:<{width}}  {value}" for name, value in rows]
    return "\n".join([*lines, *_advice(facts)])


def _advice(facts: dict[str, Any]) -> list[str]:
    lines: list[str] = []
    if facts["sandbox"]["why"]:
        lines += ["", "Why not a better sandbox:", *(f"  - {reason}" for reason in facts["sandbox"]["why"])]
    if facts["sandbox"]["name"] == "none":
        lines += ["", "`grader grade` refuses to run here, unless --unsafe says that you trust every submission."]
    if facts["measuring_failed"]:
        lines += ["", f"The speed could not be measured: {facts['measuring_failed']}"]
    return lines


def _time(value: float | None, unit: str) -> str:
    return "not measured" if value is None else f"{value:.1f} {unit}"


def _found(found: dict[str, str | None], purpose: str) -> str:
    if found["version"] is None:
        return f"not installed; {purpose}"
    return f"{found['version']}, {found['command'] or f'without its command; {purpose}'}"


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _command(name: str) -> str | None:
    """The command beside this Python, whether or not the environment was activated; else on PATH."""
    return shutil.which(name, path=str(Path(sys.executable).parent)) or shutil.which(name)

