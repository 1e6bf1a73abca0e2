"""The sample class follows the course: every answer in it comes from there, and its scores can be
predicted."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from grader import exercises
from grader.classroom.answers import standalone, wrong_answer
from grader.classroom.create import new_class
from grader.classroom.example import PEOPLE, answers, fill, predicted
from grader.classroom.folder import ClassFolder
from grader.classroom.outcome import Status
from grader.classroom.run import grade_class

UNREADABLE = {("chloe_martin", "03_straight_through"), ("chloe_martin", "04_gradcheck")}


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> ClassFolder:
    folder = new_class(tmp_path_factory.mktemp("sample") / "class").folder
    fill(folder)
    return folder


def test_there_are_enough_people_with_names_of_their_own() -> None:
    names = [person.name for person in PEOPLE]
    assert len(names) == len(set(names)) >= 12


def test_every_habit_is_a_misconception_of_some_exercise() -> None:
    for person in PEOPLE:
        for habit in person.habits:
            assert any(wrong_answer(id, habit) for id in exercises.catalogue()), (person.name, habit)


@pytest.mark.parametrize("id", exercises.catalogue())
def test_answers_stand_alone_in_a_notebook(id: str) -> None:
    """Each written answer defines its symbol in a fresh namespace, without this package."""
    exercise = exercises.get(id)
    for answer in (*exercise.variants, *exercise.misconceptions):
        if answer.source is not None:
            source = standalone(answer)
            space: dict[str, object] = {"__name__": "__main__"}
            exec("import torch\nfrom torch.autograd import Function\n" + source, space)
            assert exercise.symbol in space, answer.id
            assert "grader" not in source, answer.id


def test_everyone_hands_in_what_they_should(sample: ClassFolder) -> None:
    assert sample.students() == sorted(person.name for person in PEOPLE)
    assert len(sample.lessons()) == 5
    perfect = PEOPLE[0]
    for lesson in sample.lessons():
        given = answers(sample, perfect, lesson)
        assert set(given) == {e.id for e in exercises.catalogue().values() if e.lesson == lesson}
        assert not any("NotImplementedError" in answer or "### BEGIN" in answer for answer in given.values())


def test_filling_it_again_changes_nothing(sample: ClassFolder, tmp_path: Path) -> None:
    def files(root: Path) -> dict[str, bytes]:
        return {str(p.relative_to(root)): p.read_bytes() for p in root.rglob("*") if p.is_file()}

    shutil.copytree(sample.root, tmp_path / "again")
    before = files(tmp_path / "again" / "submitted")
    fill(ClassFolder.open(tmp_path / "again"))
    assert files(tmp_path / "again" / "submitted") == before


@pytest.mark.slow
@pytest.mark.timeout(3000)
def test_the_table_is_what_each_submissions_mistakes_predict(sample: ClassFolder) -> None:
    summary = grade_class(sample.root)
    wrong = []
    for row, person in zip(summary.rows, sorted(PEOPLE, key=lambda p: p.name), strict=True):
        for number, entry in enumerate(row.entries):
            if number in person.skips:
                assert (entry.status, entry.points) == (Status.MISSING, None)
            elif (person.name, entry.lesson) in UNREADABLE:
                assert (entry.status, entry.points) == (Status.UNREADABLE, None)
            else:
                assert entry.status == Status.GRADED, (person.name, entry.lesson, entry.outcome.reason)
                expected = predicted(sample, person, entry.lesson)
                found = {result.exercise: result.points for result in entry.outcome.exercises}
                wrong += [(person.name, id, found[id], p) for id, p in expected.items() if found[id] != p]
                assert entry.points == pytest.approx(sum(found.values()))
    assert wrong == []
