"""Which file of a zip counts for which student and lesson, and why another does not. Nothing is written here."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import PurePosixPath

from grader.classroom.handed_in import ARRIVED
from grader.classroom.lms.archive import Member
from grader.classroom.lms.contents import File, Library, unpacked
from grader.classroom.lms.names import free_place
from grader.classroom.lms.people import Match, Roll
from grader.classroom.lms.piece import Person, Piece, Reading
from grader.errors import GraderError

__all__ = ["Plan", "Skipped", "Submission", "make_plan"]


@dataclass(frozen=True)
class Submission:
    """What one student handed in for one lesson.

    files: for submitted/STUDENT/LESSON/, by path; the notebook that counts is LESSON.ipynb. kept: earlier and other
    attempts, by path. shown: the file that counts, as the zip names it. how: how the student was recognised.
    order: sorts attempts of the same source. when: when it was handed in, where that is known.
    """

    student: str
    lesson: str
    files: dict[str, Member]
    shown: str
    called: str
    how: str
    kept: dict[str, Member] = field(default_factory=dict)
    when: datetime | None = None
    late: bool = False
    order: tuple[int, ...] = ()
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Skipped:
    """A file that is not taken, whose it is by the LMS, and why not."""

    shown: str
    called: str
    why: str


@dataclass(frozen=True)
class Plan:
    """What would be taken from a zip. notes: what holds for all of it; absent: students with nothing in it."""

    submissions: list[Submission]
    skipped: list[Skipped]
    notes: list[str]
    absent: list[str]


def make_plan(
    reading: Reading, roll: Roll, library: Library, *, lesson: str | None = None, before: datetime | None = None
) -> Plan:
    """Match and choose. lesson: take this one only. before: an attempt after this time does not count.

    GraderError when no lesson is named and no file is a notebook of any.
    """
    skipped = [Skipped(path, "", why) for path, why in sorted(reading.others.items())]
    owned: dict[str, list[tuple[Person, Match, Piece]]] = defaultdict(list)
    for piece in reading.pieces:
        for person in piece.people:
            match = roll.find(person)
            if match.why_not:
                skipped.append(Skipped(piece.member.path, person.called, match.why_not))
            for student in match.students:
                owned[student].append((person, match, piece))
    chooser = _Chooser(library, lesson, before)
    work = {student: found for student, found in owned.items() if not _two_people(student, found, skipped)}
    chooser.look_at(piece for found in work.values() for _, _, piece in found)
    submissions: list[Submission] = []
    for student, found in sorted(work.items()):
        person, match, _ = found[0]
        pieces = [piece for _, _, piece in found]
        submissions += chooser.choose(student, person, match, pieces, skipped)
    absent = sorted(set(roll.students) - set(owned))
    return Plan(submissions, skipped, reading.notes, absent)


def _two_people(student: str, found: list[tuple[Person, Match, Piece]], skipped: list[Skipped]) -> bool:
    """Two people of the zip may not become one student of the class: neither is taken."""
    people = {(p.name, p.emails, p.ids, p.lms_ids, p.called): p for p, match, _ in found if match.how != "group"}
    if len(people) < 2:
        return False
    called = " and ".join(sorted(person.called for person in people.values()))
    why = f"{called} would both be {student}; enter their LMS ids in the class's list (--students)"
    skipped += [Skipped(piece.member.path, person.called, why) for person, _, piece in found]
    return True


class _Chooser:
    """Chooses among the files of each student."""

    def __init__(self, library: Library, lesson: str | None, before: datetime | None) -> None:
        self.library, self.lesson, self.before = library, lesson, before
        self.files: dict[str, list[File]] = {}  # by the path of the piece in the zip
        self.notes: dict[str, list[str]] = {}

    def look_at(self, pieces: Iterable[Piece]) -> None:
        """Find the lesson of every notebook. GraderError when there is none and none was asked for."""
        for piece in pieces:
            if piece.member.path in self.files:
                continue
            files, notes = [], []
            for file, note in unpacked(piece):
                notes += [note] if note else []
                if file.is_notebook:
                    lesson, cells, why = self.library.identify(file.member.read())
                    notes += [f"{PurePosixPath(file.path).name}: {why}"] if why else []
                    file = replace(file, lesson=lesson, cells=cells)
                files.append(file)
            self.files[piece.member.path], self.notes[piece.member.path] = files, notes
        lessons = {file.lesson for files in self.files.values() for file in files if file.lesson}
        if self.lesson is None and self.files and not lessons:
            raise GraderError(
                "no file in this zip is a notebook of this class's lessons. If it is to be taken all the same, say for "
                f"which lesson: --lesson {next(iter(self.library.masters), 'LESSON')}"
            )
        self.main = self.lesson or (next(iter(lessons)) if len(lessons) == 1 else None)

    def choose(
        self, student: str, person: Person, match: Match, pieces: list[Piece], skipped: list[Skipped]
    ) -> list[Submission]:
        """What counts of one student's pieces, for each lesson."""
        attempts = _attempts(pieces)
        made = []
        for lesson in self._lessons(pieces):
            good = [a for a in attempts if self._has(a, lesson)]
            in_time = [a for a in good if self._in_time(a)]
            in_time = [a for a in in_time if self._has(a, lesson, notebook=True)] or in_time
            if not in_time:
                why = f"handed in after {self.before:%Y-%m-%d %H:%M %Z}" if self.before else "nothing for this lesson"
                skipped += [Skipped(piece.member.path, person.called, why) for a in good for piece in a]
                continue
            counts = in_time[-1]
            made.append(self._submission(student, lesson, person, match, counts, [a for a in good if a is not counts]))
        self._tell_rest(person, pieces, skipped, taken=bool(made))
        return made

    def _lessons(self, pieces: list[Piece]) -> list[str]:
        """The lessons that a student's pieces are for."""
        files = [file for piece in pieces for file in self.files[piece.member.path]]
        found = sorted({file.lesson for file in files if file.lesson})
        if self.lesson is not None:
            return [self.lesson] if self.lesson in found or any(file.lesson is None for file in files) else []
        return found or ([self.main] if self.main else [])

    def _has(self, attempt: list[Piece], lesson: str, *, notebook: bool = False) -> bool:
        """Whether an attempt has the lesson's notebook, or may be an answer to the zip's lesson in another form."""
        files = [file for piece in attempt for file in self.files[piece.member.path]]
        other_form = not notebook and lesson == self.main and any(file.lesson is None for file in files)
        return other_form or any(file.lesson == lesson for file in files)

    def _in_time(self, attempt: list[Piece]) -> bool:
        times = [piece.when for piece in attempt if piece.when]
        return self.before is None or not times or max(times) <= self.before

    def _submission(
        self, student: str, lesson: str, person: Person, match: Match, counts: list[Piece], others: list[list[Piece]]
    ) -> Submission:
        files = [file for piece in counts for file in self.files[piece.member.path]]
        notes = [note for piece in counts for note in self.notes[piece.member.path]]
        notebooks = _ranked([file for file in files if file.lesson == lesson])
        chosen = notebooks[-1] if notebooks else None
        kept = {file.path: file.member for file in notebooks[:-1]}
        if chosen is None:
            notes.append(f"none of the files is a notebook of {lesson}")
        for attempt in others:
            for piece in attempt:
                time = f"{piece.when:%Y-%m-%d-%H%M%S}" if piece.when else piece.attempt
                kept |= {f"{time}/{file.path}": file.member for file in self.files[piece.member.path]}
        when = max((piece.when for piece in counts if piece.when), default=None)
        late = any(piece.late for piece in counts)
        if late and when is None:
            notes.append("the LMS says late but not when, so that no penalty follows unless you write a timestamp.txt")
        if kept:
            notes.append(f"{len(kept)} files of other attempts are kept beside: {', '.join(sorted(kept)[:3])}")
        elif chosen is not None and PurePosixPath(chosen.path).name != f"{lesson}.ipynb":
            notes.append(f"{PurePosixPath(chosen.path).name} is {lesson}'s notebook by its cells")
        left = [file for file in files if file.lesson in (None, lesson) and file not in notebooks]
        return Submission(
            student,
            lesson,
            _laid_out(lesson, chosen, left, notes),
            chosen.shown if chosen else counts[0].member.path,
            person.called,
            match.how,
            kept,
            when,
            late,
            max(piece.order for piece in counts),
            notes,
        )

    def _tell_rest(self, person: Person, pieces: list[Piece], skipped: list[Skipped], *, taken: bool) -> None:
        """Say which of a student's files went nowhere."""
        for file in (file for piece in pieces for file in self.files[piece.member.path]):
            if self.lesson is not None and file.lesson not in (None, self.lesson):
                why = f"it is {file.lesson}'s notebook, and --lesson {self.lesson} was asked for"
                skipped.append(Skipped(file.shown, person.called, why))
            elif not taken and file.lesson is None and self.main is None:
                why = "which lesson it is for is not sure, since this zip has several: say --lesson"
                skipped.append(Skipped(file.shown, person.called, why))


def _attempts(pieces: list[Piece]) -> list[list[Piece]]:
    """A student's pieces by attempt, the latest last."""
    attempts: dict[str, list[Piece]] = defaultdict(list)
    for piece in pieces:
        attempts[piece.attempt].append(piece)
    return sorted(attempts.values(), key=lambda attempt: max(piece.order for piece in attempt))


def _ranked(notebooks: list[File]) -> list[File]:
    """Several notebooks of a lesson in one attempt, the last of which counts: the latest that is no mere scrap of it,
    with most of its cells, outermost."""
    most = max((file.cells for file in notebooks), default=0)
    return sorted(notebooks, key=lambda f: (2 * f.cells >= most, f.piece.order, f.cells, -f.path.count("/"), f.path))


def _laid_out(lesson: str, chosen: File | None, others: list[File], notes: list[str]) -> dict[str, Member]:
    """The files by where they go: the notebook under its lesson's name, what lay beside it beside it."""
    base = PurePosixPath(chosen.path).parent if chosen else PurePosixPath()
    laid = {f"{lesson}.ipynb": chosen.member} if chosen else {}
    taken = {path.casefold() for path in (*laid, ARRIVED)}
    for file in sorted(others, key=lambda file: file.path):
        path = PurePosixPath(file.path)
        place = str(path.relative_to(base)) if path.is_relative_to(base) else str(path)
        if place == ARRIVED:
            notes.append(f"a {ARRIVED} of the student's own was left out: the time is the LMS's to tell")
            continue
        laid[free_place(place, taken)] = file.member
    return laid
