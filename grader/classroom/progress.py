"""How a grading run is shown while it goes on: a bar with the time left, or, off a terminal, a line a submission."""

from __future__ import annotations

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from grader.classroom.outcome import Outcome, Status
from grader.classroom.table import progress_line

__all__ = ["Bar", "Lines", "Watcher", "watcher"]


class Watcher:
    """Hears how a run goes on. This one is silent."""

    def begin(self, where: str, total: int) -> None:
        """The run starts: on what, in what sandbox, and how many submissions it will look at."""

    def done(self, outcome: Outcome | None) -> None:
        """A submission was graded; None: there was nothing to do for it."""

    def end(self) -> None:
        """All were looked at."""


def watcher(console: Console) -> Watcher:
    """What fits the console, which is stderr."""
    return Bar(console) if console.is_terminal else Lines(console)


class Lines(Watcher):
    """A line for each submission that was graded."""

    def __init__(self, console: Console) -> None:
        self.console, self.count, self.total = console, 0, 0

    def begin(self, where: str, total: int) -> None:
        self.total = total
        self._say(f"Grading with {where}.")

    def done(self, outcome: Outcome | None) -> None:
        self.count += 1
        if outcome is not None:
            self._say(progress_line(self.count, self.total, outcome))

    def _say(self, text: str) -> None:
        self.console.print(text, highlight=False, markup=False, soft_wrap=True)


class Bar(Watcher):
    """A bar, how many are done and how long the rest will take; lines only for what needs a look."""

    def __init__(self, console: Console) -> None:
        columns = (
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("left:"),
            TimeRemainingColumn(),
            TextColumn("{task.description}"),
        )
        self.progress = Progress(*columns, console=console, transient=True)
        self.task = self.progress.add_task("")

    def begin(self, where: str, total: int) -> None:
        self.progress.console.print(f"Grading with {where}.", highlight=False, markup=False)
        self.progress.update(self.task, total=total)
        self.progress.start()

    def done(self, outcome: Outcome | None) -> None:
        self.progress.advance(self.task)
        if outcome is None:
            return
        self.progress.update(self.task, description=f"{outcome.student} {outcome.lesson}")
        if outcome.status is Status.LOOK:
            text = f"{outcome.student} {outcome.lesson}: {outcome.status}: {outcome.reason}"
            self.progress.console.print(text, highlight=False, markup=False)

    def end(self) -> None:
        self.progress.stop()
