"""`grader doctor` on this machine, and as it reads where things are missing."""

from __future__ import annotations

import importlib.metadata
import json
import platform

import pytest
from click.testing import CliRunner

from grader.cli import main
from grader.grading import doctor
from grader.grading.sandbox import Level, choose_level


@pytest.fixture(scope="module")
def facts() -> dict[str, object]:
    result = CliRunner().invoke(main, ["doctor", "--json"])
    assert result.exit_code == (choose_level(unsafe=True).name == "none"), result.output
    found: dict[str, object] = json.loads(result.stdout)
    return found


def test_facts(facts: dict[str, object]) -> None:
    level = choose_level(unsafe=True)
    assert facts["sandbox"] == {
        "name": level.name,
        "namespaces": level.namespaces,
        "landlock": level.landlock,
        "nobody": level.nobody,
        "why": list(level.why),
        "describe": level.describe(),
    }
    assert facts["python"]["version"] == platform.python_version()  # type: ignore[index]
    assert facts["torch"] == importlib.metadata.version("torch")
    assert facts["found"]["nbgrader"]["version"] == "0.9.6"  # type: ignore[index]


def test_the_speed_was_measured_in_the_sandbox(facts: dict[str, object]) -> None:
    assert facts["measuring_failed"] is None
    assert isinstance(facts["warm_start_seconds"], float)
    assert facts["warm_start_seconds"] > 0.05, "importing torch takes longer than that"
    assert isinstance(facts["child_milliseconds"], float)
    assert facts["child_milliseconds"] > 0


def test_the_table_names_what_is_there(facts: dict[str, object]) -> None:
    table = doctor.as_table(facts)
    assert table.startswith(f"sandbox          {choose_level(unsafe=True).describe()}\n")
    assert "each submission" in table
    assert max(map(len, table.splitlines())) <= 110


def test_without_a_sandbox_it_says_why_and_what_then(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "choose_level", lambda unsafe: Level("none", why=("bubblewrap is not installed",)))
    monkeypatch.setattr(doctor, "try_level", lambda *_, **__: {"broken": ["no fork here"]})
    result = CliRunner().invoke(main, ["doctor"])
    assert result.exit_code == 1
    assert "sandbox          none: student code runs with your rights" in result.output
    assert "Why not a better sandbox:\n  - bubblewrap is not installed" in result.output
    assert "--unsafe" in result.output
    assert "could not be measured: no fork here" in result.output
