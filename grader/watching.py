"""`grader check --watch`: the verdict again each time the file is saved.

The file is looked at a few times a second: its size, its time and which file it is. That needs nothing of the system,
so it works in containers and on network drives, and editors that save by renaming or by deleting and writing anew make
no difference. The next process is loaded while the learner types, so that a verdict does not wait for torch.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from rich.console import Console
from rich.text import Text

from grader.loading import Child, FileProblem, Wanted
from grader.report_text import in_colour

__all__ = ["watch"]

PAUSE = 0.2  # seconds between two looks; a file that is the same in two of them is saved whole

Stamp = tuple[int, int, int]


def watch(wanted: Wanted) -> None:
    """Check now and after each save, until Ctrl+C. GraderError for what no save can mend: no such exercise."""
    console = Console(highlight=False)
    last: Stamp | None = None
    child = Child(ahead=True)
    try:
        while True:
            last = _next_save(wanted.path, last, lambda: console.print(f"Waiting for {wanted.path}.", style="dim"))
            _run(child, wanted, last, console)
            child.close()
            child = Child(ahead=True)
    except KeyboardInterrupt:
        console.print("\nNo longer watching.", style="dim")
    finally:
        child.close()


def _run(child: Child, wanted: Wanted, stamp: Stamp, console: Console) -> None:
    """One run: its head, the verdict or why there is none, its end."""
    if console.is_terminal:
        console.clear()
    console.rule(Text(f"{datetime.now():%H:%M:%S}  {wanted.exercise}  {wanted.path}"), style="dim", align="left")
    start = time.monotonic()
    try:
        report = child.judge(wanted, outdated=lambda: _stamp(wanted.path) not in (None, stamp))
    except FileProblem as error:
        console.print(Text(f"✗ {error}", style="bold yellow"))
    else:
        if report is None:
            console.print("Saved again meanwhile.", style="dim")
            return
        in_colour(report, console)
    console.print(f"{time.monotonic() - start:.1f} s. Save the file to check again, Ctrl+C to end.", style="dim")


def _next_save(path: Path, last: Stamp | None, absent: Callable[[], None]) -> Stamp:
    """Wait until the file is another than `last` and stays the same for two looks; its stamp."""
    before: Stamp | None = None
    told = last is not None
    while True:
        now = _stamp(path)
        if now is None and not told:
            told = True
            absent()
        if now is not None and now != last and (now == before or last is None):
            return now
        before = now
        time.sleep(PAUSE)


def _stamp(path: Path) -> Stamp | None:
    """What tells one save from another; None where there is no file."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns
