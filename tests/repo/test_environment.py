"""pyproject.toml, constraints.txt, environment.yml and what is installed must all say the same."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, distribution, packages_distributions
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
RUNTIME = [Requirement(text) for text in PROJECT["dependencies"]]
EXTRAS = {
    name: [Requirement(text) for text in extra]
    for name, extra in PROJECT["optional-dependencies"].items()
}
DIRECT = RUNTIME + [requirement for extra in EXTRAS.values() for requirement in extra]
PIN = re.compile(r"^(?P<name>[a-z0-9-]+)==(?P<version>[^\s#+]+)(?:\s+# (?P<reason>.+))?$")


def pins() -> dict[str, re.Match[str]]:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    found: dict[str, re.Match[str]] = {}
    for line in lines:
        if line and not line.startswith("#"):
            match = PIN.match(line)
            assert match, f"not an exact pin of a canonical name: {line!r}"
            assert match["name"] not in found, f"pinned twice: {match['name']}"
            found[match["name"]] = match
    return found


def names(requirements: list[Requirement]) -> set[str]:
    return {canonicalize_name(requirement.name) for requirement in requirements}


def test_every_direct_dependency_is_pinned_with_a_reason_and_within_its_range() -> None:
    pinned = pins()
    for requirement in DIRECT:
        pin = pinned[canonicalize_name(requirement.name)]
        assert pin["reason"], f"say in constraints.txt why {pin['name']} is a dependency"
        assert requirement.specifier.contains(pin["version"]), f"{requirement} excludes {pin[0]}"


def test_reasons_stand_only_beside_direct_dependencies() -> None:
    assert {name for name, pin in pins().items() if pin["reason"]} == names(DIRECT)


def test_torch_is_pinned_exactly_and_without_a_build() -> None:
    assert pins()["torch"]["version"] == "2.13.0"
    assert [str(r) for r in RUNTIME if r.name == "torch"] == ["torch==2.13.0"]


def test_the_conda_environment_has_the_same_names_and_pins() -> None:
    environment = yaml.safe_load((ROOT / "environment.yml").read_text())
    (pip,) = [entry["pip"] for entry in environment["dependencies"] if isinstance(entry, dict)]
    listed = dict(line.split("==") for line in pip if "==" in line)
    assert listed == {name: pins()[name]["version"] for name in names(RUNTIME)}
    assert "-c constraints.txt" in pip
    assert "-e ." in pip


CUDA = ("nvidia-", "cuda-", "triton")
"""What a CUDA build of torch brings along, pinned by torch itself; the CPU build, which CI takes, has none of it."""


def test_what_is_installed_is_what_is_pinned_down_to_the_last_indirect_one() -> None:
    """Walks the requirements of what is installed; one that is missing is an extra that was not asked for."""
    pinned = pins()
    seen: set[tuple[str, str]] = set()
    todo = [(str(canonicalize_name(r.name)), extra) for r in DIRECT for extra in ("", *r.extras)]
    while todo:
        name, extra = todo.pop()
        if (name, extra) in seen:
            continue
        seen.add((name, extra))
        try:
            installed = distribution(name)
        except PackageNotFoundError:
            assert name not in names(RUNTIME), f"{name} is not installed"
            continue
        if name.startswith(CUDA):
            continue
        assert name in pinned, f"{name}=={installed.version} is installed but not pinned in constraints.txt"
        assert installed.version.split("+")[0] == pinned[name]["version"], name
        for requirement in map(Requirement, installed.requires or []):
            if requirement.marker is None or requirement.marker.evaluate({"extra": extra}):
                todo += [(str(canonicalize_name(requirement.name)), e) for e in ("", *requirement.extras)]
    assert set(pinned) <= {name for name, _ in seen}, "pinned but nobody asks for it"


def imported(path: Path) -> set[str]:
    """Top-level names that a module imports, those inside functions too."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            found.add(node.module.split(".")[0])
    return found


@pytest.mark.parametrize(
    ("folder", "allowed"),
    [
        ("grader", names(RUNTIME) | {name for key in EXTRAS if key != "dev" for name in names(EXTRAS[key])}),
        ("solutions", names(RUNTIME)),
        ("examples", names(RUNTIME)),
    ],
)
def test_what_is_imported_is_a_declared_dependency(folder: str, allowed: set[str]) -> None:
    distributions = packages_distributions()
    stray: dict[str, str] = {}
    for path in sorted((ROOT / folder).rglob("*.py")):
        beside = {other.stem for other in path.parent.glob("*.py")}  # of a program that is a folder
        for name in imported(path) - set(sys.stdlib_module_names) - beside - {"grader", "__future__"}:
            if not {str(canonicalize_name(d)) for d in distributions.get(name, [])} & allowed:
                stray[str(path.relative_to(ROOT))] = name
    assert not stray, f"imported but not in pyproject.toml: {stray}"
