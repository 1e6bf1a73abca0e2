"""docs/matrix.md is what `grader matrix --write` gives."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from grader.cli import main
from grader.corpus import find
from grader.matrix import all_exercises, block, implementations, page, page_path
from tests.matrix.known import everything, row

RENEW = "docs/matrix.md is stale: run `grader matrix --write`"


@pytest.mark.parametrize("id", ["double", "grad_reverse", "corpus/power", "corpus/dropout"])
def test_the_tables_of_some_exercises(id: str) -> None:
    expected = block(id, [row(known) for known in implementations(find(id))])
    assert expected in page_path().read_text(encoding="utf-8"), RENEW


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_the_whole_page() -> None:
    expected = page([row(known) for known in everything()], list(all_exercises().values()))
    assert page_path().read_text(encoding="utf-8") == expected, RENEW


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
