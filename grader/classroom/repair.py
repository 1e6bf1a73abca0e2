"""Mends a copy of a submission, so that every graded cell is there once, in its place, with the
instructor's text.

Students copy, delete, move and retype cells, and tools drop metadata. None of that may cost a mark that the
code earned, raise the maximum, or stop the run. Every mend is said in a note, in words for the student.
"""

from __future__ import annotations

import copy
import re
from dataclasses import dataclass, field

from nbformat import NotebookNode
from nbformat.v4 import new_code_cell

from grader.classroom.alike import defined, index_of, same
from grader.classroom.master import Master, grade_id, is_test

__all__ = ["belonging", "repair"]


DOUBLED = "there more than once, one was kept as the graded one"
LOST = "without its nbgrader data, known again by its text"
MISSING = "missing, put back from the instructor's copy"
RETYPED = "of another cell type, changed back"
CHANGED = "changed, replaced by the instructor's text"
ANSWERED = "held an answer, which was put into a cell of its own in front"
MOVED = "before its exercise, moved behind it"
LATE = "defined again below its test cell, which saw what stood above it"

ELSEWHERE = "# The answer is in another cell."


@dataclass
class Notes:
    """What was mended: one sentence for each kind of damage, with the cells that had it."""

    master: Master
    found: dict[str, list[str]] = field(default_factory=dict)

    def add(self, kind: str, name: str) -> None:
        self.found.setdefault(kind, []).append(name)

    def sentences(self) -> list[str]:
        return [f"{kind}: {', '.join(map(self.called, names))}" for kind, names in self.found.items()]

    def called(self, name: str) -> str:
        """What a cell is called in a note: the test of "relu"."""
        cell = self.master.cells[name]
        if is_test(cell):
            return f'the test of "{self.master.solution_of(name) or name}"'
        return f'the answer "{name}"' if cell.metadata.nbgrader.get("solution") else f'the locked cell "{name}"'


def belonging(notebook: NotebookNode, master: Master) -> int:
    """How many of the lesson's graded and solution cells the notebook has, by id, text or what they
    define."""
    claimed = {grade_id(cell) for cell in notebook.cells}
    return sum(name in claimed or bool(_look_alikes(notebook.cells, name, master)) for name in master.cells)


def repair(notebook: NotebookNode, master: Master) -> tuple[NotebookNode, list[str]]:
    """A mended copy of `notebook`, and what was mended. A notebook in order comes back unchanged, with no
    notes."""
    notes = Notes(master)
    nb = copy.deepcopy(notebook)
    chosen = _choose(nb.cells, master, notes)
    for cell in nb.cells:
        if not any(cell is kept for kept in chosen.values()):
            cell.metadata.pop("nbgrader", None)
            _unlock(cell)
    for name, original in master.cells.items():
        if name in chosen:
            _save_answer(nb.cells, chosen[name], name, master, notes)
            _restore(chosen[name], name, original, master, notes)
        else:
            chosen[name] = _put_back(nb.cells, name, chosen, master, notes)
    _put_tests_behind_solutions(nb.cells, chosen, master, notes)
    _tell_late_answers(nb.cells, chosen, master, notes)
    nb.metadata.pop("celltoolbar", None)
    for key in ("kernelspec", "language_info"):
        nb.metadata.pop(key, None)
        if key in master.notebook.metadata:
            nb.metadata[key] = copy.deepcopy(master.notebook.metadata[key])
    _fresh_ids(nb.cells)
    nb.nbformat, nb.nbformat_minor = 4, 5
    return nb, notes.sentences()


def _choose(cells: list[NotebookNode], master: Master, notes: Notes) -> dict[str, NotebookNode]:
    """For each of the lesson's cells the one in the submission that is it, where there is one."""
    chosen: dict[str, NotebookNode] = {}
    tests_first = sorted(master.cells, key=lambda name: not is_test(master.cells[name]))  # _answer needs them
    claiming: dict[str, list[NotebookNode]] = {}
    for cell in cells:
        claiming.setdefault(grade_id(cell), []).append(cell)
    for name in tests_first:
        claims = claiming.get(name, [])
        if len(claims) > 1:
            pick = _test if is_test(master.cells[name]) else _answer
            chosen[name] = pick(cells, claims, name, chosen, master)
            notes.add(DOUBLED, name)
        elif claims:
            chosen[name] = claims[0]
    for name in master.cells:
        if name not in chosen:
            free = [cell for cell in cells if not any(cell is kept for kept in chosen.values())]
            found = _look_alikes(free, name, master)
            if found:
                chosen[name] = found[0] if is_test(master.cells[name]) else found[-1]  # the last definition counts
                notes.add(LOST, name)
    return chosen


def _test(
    cells: list[NotebookNode],
    claims: list[NotebookNode],
    name: str,
    _: dict[str, NotebookNode],
    master: Master,
) -> NotebookNode:
    """Of several copies of a test cell the last that follows its own answer: the text of all will be ours
    anyway."""
    for claim in reversed(claims):
        before = [grade_id(cell) for cell in cells[: index_of(cells, claim)] if grade_id(cell) not in ("", name)]
        if before and before[-1] == master.solution_of(name):
            return claim
    return claims[0]


def _answer(
    cells: list[NotebookNode],
    claims: list[NotebookNode],
    name: str,
    chosen: dict[str, NotebookNode],
    master: Master,
) -> NotebookNode:
    """Of several answer cells the last before the test that was worked on: what the test saw when it was
    run."""
    names = list(master.cells)
    test = next((chosen[n] for n in names[names.index(name) :] if n in chosen and master.solution_of(n) == name), None)
    seen = [c for c in claims if test is None or index_of(cells, c) < index_of(cells, test)] or claims
    defining = [c for c in seen if c.cell_type == "code" and defined(master.cells[name].source) & defined(c.source)]
    worked_on = [c for c in defining if not same(c.source, master.released[name])]
    return (worked_on or defining or seen)[-1]


def _look_alikes(cells: list[NotebookNode], name: str, master: Master) -> list[NotebookNode]:
    """Cells that are the lesson's cell `name` by their text, or by the class or function they define."""
    released = master.released[name]
    equal = [cell for cell in cells if cell.source.strip() and same(cell.source, released)]
    if equal or not master.cells[name].metadata.nbgrader.get("solution"):
        return equal
    wanted = defined(released)
    return [cell for cell in cells if cell.cell_type == "code" and wanted & defined(cell.source)]


def _restore(cell: NotebookNode, name: str, original: NotebookNode, master: Master, notes: Notes) -> None:
    """Give a chosen cell its type, metadata and, where it is the instructor's, its text back."""
    if cell.cell_type != original.cell_type:
        notes.add(RETYPED, name)
        cell.cell_type = original.cell_type
    if cell.cell_type == "code":
        cell.update(outputs=[], execution_count=None)
        cell.pop("attachments", None)
    else:
        cell.pop("outputs", None)
        cell.pop("execution_count", None)
    if not original.metadata.nbgrader.get("solution"):
        if not (same(cell.source, master.released[name]) or same(cell.source, original.source)):
            notes.add(CHANGED, name)
        cell.source = original.source
    cell.metadata.nbgrader = copy.deepcopy(original.metadata.nbgrader)


def _save_answer(cells: list[NotebookNode], cell: NotebookNode, name: str, master: Master, notes: Notes) -> None:
    """Students type answers into test cells: keep such a text, which `_restore` replaces, in a cell in front."""
    if not is_test(master.cells[name]) or same(cell.source, master.released[name]):
        return
    asked = [c for c in master.cells.values() if c.metadata.nbgrader.get("solution")]
    if any(defined(answer.source) & defined(cell.source) for answer in asked):
        cells.insert(index_of(cells, cell), new_code_cell(cell.source))
        notes.add(ANSWERED, name)


def _put_back(
    cells: list[NotebookNode], name: str, chosen: dict[str, NotebookNode], master: Master, notes: Notes
) -> NotebookNode:
    """Add a missing cell from the instructor's copy, behind the cell of the lesson that comes before it."""
    names = list(master.cells)
    before = [n for n in names[: names.index(name)] if n in chosen]
    place = index_of(cells, chosen[before[-1]]) + 1 if before else _first_place(cells, chosen)
    cell = copy.deepcopy(master.cells[name])
    wanted = defined(cell.source) if cell.metadata.nbgrader.get("solution") else frozenset()
    if any(wanted & defined(other.source) for other in cells[:place]):
        cell.source = ELSEWHERE  # the stub would undo it
    cells.insert(place, cell)
    notes.add(MISSING, name)
    return cell


def _first_place(cells: list[NotebookNode], chosen: dict[str, NotebookNode]) -> int:
    return min((index_of(cells, cell) for cell in chosen.values()), default=len(cells))


def _put_tests_behind_solutions(
    cells: list[NotebookNode], chosen: dict[str, NotebookNode], master: Master, notes: Notes
) -> None:
    """A test cell that was moved before its solution goes right behind it."""
    for name in master.points:
        solution = master.solution_of(name)
        if solution is None or index_of(cells, chosen[solution]) < index_of(cells, chosen[name]):
            continue
        del cells[index_of(cells, chosen[name])]
        cells.insert(index_of(cells, chosen[solution]) + 1, chosen[name])
        notes.add(MOVED, name)


def _tell_late_answers(
    cells: list[NotebookNode], chosen: dict[str, NotebookNode], master: Master, notes: Notes
) -> None:
    """An answer written below its test passes in a live kernel and fails from the file: say so."""
    for test in master.points:
        solution = master.solution_of(test)
        if solution is None:
            continue
        wanted = defined(master.cells[solution].source)
        later = [
            c for c in cells[index_of(cells, chosen[test]) :] if c.cell_type == "code" and wanted & defined(c.source)
        ]
        if later:
            notes.add(LATE, solution)


def _unlock(cell: NotebookNode) -> None:
    for key in ("deletable", "editable"):
        cell.metadata.pop(key, None)


def _fresh_ids(cells: list[NotebookNode]) -> None:
    """Every cell an id of its own: copies share one, old formats have none."""
    seen: set[str] = set()
    for cell in cells:
        name = cell.get("id")
        if not isinstance(name, str) or name in seen or not re.fullmatch(r"[a-zA-Z0-9-_]{1,64}", name):
            cell["id"] = new_code_cell("").id
        seen.add(cell["id"])
