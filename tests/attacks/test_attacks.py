"""The attack suite, tried for real: by `grader grade` no attack gains anything, by nbgrader alone some do."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from click.testing import CliRunner

from grader.attacks.attack import LESSON, Attack, Field
from grader.attacks.report import Result, as_text, try_attacks
from grader.attacks.routes import attacks
from grader.attacks.suite import Tried, stock
from grader.cli import main
from grader.errors import GraderError
from grader.lessons import build_release, lesson_path, notebook_text

HANDFUL = (
    "own_grade",
    "execute_result",
    "skip_execution",
    "fake_package",
    "writes_gradebook",
    "script_in_text",
)


def unfounded(result: Result) -> dict[str, Tried]:
    return {id: tried for id, tried in result.ours.items() if id in result.broken}


def test_a_handful_of_attacks_gain_nothing() -> None:
    result = try_attacks(HANDFUL, with_stock=False)
    assert set(result.ours) == set(HANDFUL)
    assert unfounded(result) == {}
    assert result.whole, "the honest students keep their points"
    assert all(tried.honest == 4.0 for tried in result.ours.values()), "leaky_relu is right, relu is not"
    assert all(tried.points == 4.0 for tried in result.ours.values()), "what is right keeps its points"


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_no_attack_gains_anything_but_by_what_is_not_promised() -> None:
    result = try_attacks(with_stock=False)
    assert unfounded(result) == {}
    assert result.held
    assert set(result.limits) <= {"forged_facts"}


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_attacks_work_on_nbgrader_alone(tmp_path: Path) -> None:
    """Else the suite would prove nothing: the same files gain points, read tests and change marks there."""
    known = attacks()
    gaining = {"own_grade", "execute_result", "fake_package", "skip_execution", "writes_gradebook"}
    found = stock([known[id] for id in (*gaining, "reads_tests", "network")], tmp_path)
    assert {id for id, tried in found.items() if tried.undeserved} == gaining
    assert found["own_grade"].points is not None
    assert found["own_grade"].points > 4.0
    assert "another student's marks changed" in found["writes_gradebook"].done
    assert found["reads_tests"].done == ("hidden tests read",)
    assert found["network"].done == ("reached a server",)


def test_every_attack_is_described_and_is_python() -> None:
    for attack in attacks().values():
        assert attack.route, attack.id
        assert not attack.route.endswith("."), "a phrase for a table"
        for text in (attack.answer, attack.code):
            if not text.startswith("%"):
                ast.parse(text)


def test_an_attack_edits_the_submission(tmp_path: Path) -> None:
    release = tmp_path / "release.ipynb"
    release.write_text(notebook_text(build_release(lesson_path(LESSON))))
    field = Field(tmp_path / "class", tmp_path / "loot", tmp_path / "private", 9)
    for attack in attacks().values():
        plain = Attack(attack.id, "no attack", exercise=attack.exercise)
        attack.hand_in(release, tmp_path / attack.id, field)
        plain.hand_in(release, tmp_path / f"{attack.id}-plain", field)
        assert _files(tmp_path / attack.id) != _files(tmp_path / f"{attack.id}-plain"), attack.id


def _files(folder: Path) -> dict[str, str]:
    """What is handed in, by name; for a link its target."""
    return {
        str(path.relative_to(folder)): str(path.readlink()) if path.is_symlink() else path.read_text()
        for path in sorted(folder.rglob("*"))
        if path.is_symlink() or path.is_file()
    }


def test_what_gains_something_is_told() -> None:
    chosen = [attacks()["own_grade"], attacks()["forged_facts"]]
    gained, nothing = Tried(4.0, 20.0, ("hidden tests read",)), Tried(4.0, 4.0)
    result = Result(chosen, {"own_grade": gained, "forged_facts": Tried(7.5, 9.0)}, {"own_grade": nothing}, whole=True)
    assert (result.held, result.broken, result.limits) == (False, ["own_grade"], ["forged_facts"])
    limit = Result(chosen[1:], {"forged_facts": Tried(7.5, 9.0)}, {}, whole=True)
    assert (limit.held, limit.broken) == (True, [])
    assert not Result(chosen[1:], {"forged_facts": Tried(7.5, 9.0, ("secret read",))}, {}, whole=True).held
    assert result.to_dict()["attacks"][0]["ours"]["undeserved"] == 16.0
    text = as_text(result)
    assert "20 (+16); hidden tests read" in " ".join(text.split())
    assert "Not held against: own_grade" in text
    assert not Result(chosen[:1], {"own_grade": nothing}, {}, whole=False).held, "a neighbour lost points"


def test_an_unknown_attack_is_said_to_be_none() -> None:
    with pytest.raises(GraderError, match="there is no attack 'nonsense'"):
        try_attacks(["nonsense"])


def test_the_command_offers_it() -> None:
    told = CliRunner().invoke(main, ["doctor", "--help"])
    assert "--attack" in told.output
    assert "--no-stock" in told.output
