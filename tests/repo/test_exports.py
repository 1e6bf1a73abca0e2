"""What a module exports: what exists, and all that the rest of the package takes from it.

ruff sorts the lists (RUF022).
"""

from __future__ import annotations

import ast
import importlib
import pkgutil
from pathlib import Path

import pytest

import grader

ROOT = Path(__file__).resolve().parents[2]
MODULES = ["grader"] + sorted(
    info.name
    for info in pkgutil.walk_packages(grader.__path__, "grader.")
    if info.name != "grader.__main__"  # importing it runs it
)


def taken_from_elsewhere() -> set[tuple[str, str]]:
    """(module, name) of every `from grader... import name` in the package."""
    taken = set()
    for path in sorted((ROOT / "grader").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "grader":
                taken |= {(str(node.module), alias.name) for alias in node.names}
    return taken


def test_what_the_package_takes_from_a_module_is_exported_there() -> None:
    missing = []
    for name, key in sorted(taken_from_elsewhere()):
        exported = getattr(importlib.import_module(name), "__all__", None)
        if exported is not None and f"{name}.{key}" not in MODULES and key not in exported:
            missing.append(f"{name}.{key}")
    assert missing == []


@pytest.mark.parametrize("name", MODULES)
def test_all_names_only_what_exists(name: str) -> None:
    module = importlib.import_module(name)
    exported = getattr(module, "__all__", [])
    assert len(set(exported)) == len(exported)
    assert [key for key in exported if not hasattr(module, key)] == []


@pytest.mark.parametrize("name", MODULES)
def test_every_module_says_what_belongs_there(name: str) -> None:
    assert importlib.import_module(name).__doc__, f"{name} has no docstring"


def test_the_learners_api_is_exported_and_sorted() -> None:
    assert {"check", "explain", "hint", "progress"} <= set(grader.__all__)
    assert grader.__all__ == sorted(grader.__all__)
