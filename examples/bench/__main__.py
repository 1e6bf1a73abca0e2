"""`make bench`: what a learner and an instructor wait for. Prints tables, leaves nothing behind.

Everything is timed in one run on a machine that should have nothing else to do. nbgrader alone takes most of it:
--stock 10 lets it grade ten submissions and extrapolates, --stock 0 leaves it out.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import click
import torch
from instructor import Plan, growth, side_by_side
from learner import learner
from rich.console import Console

BUSY = 0.5  # the load from which on something else is running
PARTS = ("learner", "class", "growth")


@click.command(help=__doc__)
@click.option("--part", "parts", type=click.Choice(PARTS), multiple=True, help="Only this part.  [default: all]")
@click.option("--submissions", default=60, show_default=True, help="How many the class has.")
@click.option("--stock", type=int, help="How many of them nbgrader alone grades.  [default: all]")
@click.option("--jobs", default=2, show_default=True, help="Submissions at a time with grader grade.")
@click.option("--growth", "counts", default="10,100,1000", show_default=True, help="Sizes of further classes.")
def main(parts: tuple[str, ...], submissions: int, stock: int | None, jobs: int, counts: str) -> None:
    console = Console(width=None if Console().is_terminal else 140)
    console.print(f"torch {torch.__version__}")
    if (load := os.getloadavg()[0]) > BUSY:
        console.print(f"[bold]The machine is busy (load {load:.1f}): these times and ratios will not be right.[/bold]")
    chosen = parts or PARTS
    with tempfile.TemporaryDirectory(prefix="bench", ignore_cleanup_errors=True) as place:
        root = Path(place)
        if "class" in chosen:
            plan = Plan(submissions, jobs, submissions if stock is None else min(stock, submissions))
            table, told = side_by_side(plan, root, _say)
            console.print(table, *told, sep="\n")
        if "growth" in chosen:
            console.print(growth([int(count) for count in counts.split(",")], jobs, root, _say))
        if "learner" in chosen:
            console.print(learner())


def _say(text: str) -> None:
    click.echo(text, err=True)


if __name__ == "__main__":
    main()
