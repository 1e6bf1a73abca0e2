"""docs/matrix.md is what `grader matrix --write` gives."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from grader import signatures
from grader.battery import run_checks
from grader.cli import main
from grader.corpus import find
from grader.exercises import catalogue
from grader.local import LocalSubject
from grader.matrix import all_exercises, block, implementations, page, page_path
from tests.matrix.known import everything, row

RENEW = "docs/matrix.md or grader/signatures.json is stale: run `grader matrix --write`"


@pytest.mark.parametrize("id", ["double", "grad_reverse", "corpus/power", "corpus/dropout"])
def test_the_tables_of_some_exercises(id: str) -> None:
    expected = block(id, [row(known) for known in implementations(find(id))])
    assert expected in page_path().read_text(encoding="utf-8"), RENEW


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_the_whole_page() -> None:
    expected = page([row(known) for known in everything()], list(all_exercises().values()))
    assert page_path().read_text(encoding="utf-8") == expected, RENEW


@pytest.mark.parametrize("id", ["double", "grad_reverse", "vjp_square"])
def test_the_signatures_of_some_exercises(id: str) -> None:
    assert signatures.block(find(id)) == json.loads(signatures.FILE.read_text("utf-8"))[id], RENEW


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_all_signatures() -> None:
    expected = {exercise.id: signatures.block(exercise) for exercise in catalogue().values()}
    assert json.loads(signatures.FILE.read_text("utf-8")) == expected, RENEW


def test_a_signature_of_no_course_exercise_is_found_out() -> None:
    exercise = find("corpus/power")
    wrong = exercise.misconceptions[0].id
    assert (
        signatures.signature(exercise, wrong, 3)
        == run_checks(exercise, LocalSubject(exercise.misconceptions[0].thing), 3).failed
    )


def test_the_command_prints_a_table_and_json() -> None:
    table = CliRunner().invoke(main, ["matrix", "corpus/dropout"])
    assert table.exit_code == 0
    assert "Wrong implementations rejected: 3 of 3" in table.output
    rows = json.loads(CliRunner().invoke(main, ["matrix", "corpus/dropout", "--json"]).output)
    assert {r["id"]: r["accepted"] for r in rows} == {
        "mask_saved": True,
        "factors_saved": True,
        "new_mask_in_backward": False,
        "unscaled_backward": False,
        "keeps_p": False,
    }


def test_writing_the_page_of_one_exercise_is_refused() -> None:
    result = CliRunner().invoke(main, ["matrix", "relu", "--write"])
    assert result.exit_code == 2
    assert "--write" in result.stderr
