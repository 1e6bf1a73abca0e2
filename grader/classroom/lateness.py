"""Dates and penalties in a grading run: dates are taken over at its start; penalties that move are shown like any
change of points and entered when that is agreed to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from traitlets.config import Config

from grader.classroom.changes import ScoreChange
from grader.classroom.dates import Dates, set_dates
from grader.classroom.folder import ClassFolder
from grader.classroom.gradebook import Writer
from grader.classroom.outcome import Outcome
from grader.classroom.penalties import Moved, enter, moved

__all__ = ["Lateness"]


class Lateness:
    """The dates of a class and what they cost. GraderError when class.toml cannot be read."""

    def __init__(self, folder: ClassFolder, config: Config, writer: Writer, *, dry_run: bool = False) -> None:
        self.folder, self.config, self.writer = folder, config, writer
        self.dates = Dates.of(folder) if dry_run else set_dates(writer.ledger, folder)

    def changes(self) -> list[ScoreChange]:
        """The submissions whose points lateness would change, as the gradebook stands."""
        return [each.change() for each in moved(self.writer, self.config, self.dates)]

    def enter(self) -> None:
        """Enter the penalties as they are to be, and make the pages on which they stand anew."""
        found = moved(self.writer, self.config, self.dates)
        with self._pages_made_anew(found):
            enter(self.writer, found)

    @contextmanager
    def _pages_made_anew(self, found: Sequence[Moved]) -> Iterator[None]:
        """Killed between penalty and page: the next run enters the submission again, and makes its page."""
        kept = [outcome for each in found if (outcome := Outcome.load(self.folder, each.student, each.lesson))]
        for outcome in kept:
            replace(outcome, stamp="").save(self.folder)
        yield
        for each in found:
            if self.folder.autograded(each.student, each.lesson).exists():
                self.writer.feedback(each.student, each.lesson)
        for outcome in kept:
            outcome.save(self.folder)
