"""The limit: the same cells and checks in a warm process, one submission after another, with nothing around them.

No isolation, no gradebook, no feedback, no files. Run as a program it warms up, says so, waits for a line, and grades
its share of a class: python examples/bench/limit.py CLASS FIRST STEP
"""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode

from grader.classroom.folder import ClassFolder
from grader.classroom.master import Master, grade_id, load_master

__all__ = ["limit"]

LESSON = "02_relu"


def limit(folder: ClassFolder, processes: int) -> float:
    """Seconds for the class, from when all processes are warm to when the last one is done."""
    argv = [sys.executable, __file__, str(folder.root)]
    env = dict(os.environ, OMP_NUM_THREADS="1", MPLBACKEND="agg", GRADER_CLASS_SECRET=folder.secret())
    running = [
        subprocess.Popen(
            [*argv, str(first), str(processes)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env
        )
        for first in range(processes)
    ]
    for process in running:
        assert process.stdout is not None
        process.stdout.readline()
    start = time.perf_counter()
    for process in running:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    codes = [process.wait() for process in running]
    if any(codes):
        raise RuntimeError("the plain run of the class failed")
    return time.perf_counter() - start


def _main(place: str, first: int, step: int) -> None:
    folder = ClassFolder.open(Path(place))
    master = load_master(folder, LESSON)
    notebooks = [
        nbformat.read(folder.submitted(student, LESSON) / f"{LESSON}.ipynb", as_version=4)
        for student in folder.students()[first::step]
    ]
    _quiet()
    _grade(notebooks[0], master)
    print("warm", flush=True)
    sys.stdin.readline()
    for notebook in notebooks:
        _grade(notebook, master)


def _quiet() -> None:
    """As in a grading run: what is for a learner does nothing, and no picture is kept."""
    import matplotlib

    import grader

    matplotlib.use("agg")
    for name in ("check", "hint", "explain", "progress"):
        setattr(grader, name, lambda *a, **k: None)


def _grade(notebook: NotebookNode, master: Master) -> None:
    """Run the cells, the test cells with their hidden tests, in one namespace."""
    import matplotlib.pyplot as plt

    tests = {name: cell.source for name, cell in master.cells.items() if name in master.points}
    space: dict[str, Any] = {"__name__": "__main__"}
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        for cell in notebook.cells:
            if cell.cell_type == "code":
                with contextlib.suppress(Exception):
                    exec(compile(tests.get(grade_id(cell), cell.source), "<cell>", "exec"), space)
    plt.close("all")


if __name__ == "__main__":
    _main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
