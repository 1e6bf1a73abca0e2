"""The pin: our student notebooks are, byte for byte, what `nbgrader generate_assignment` releases."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from grader.lessons import (
    NBGRADER_STUBS,
    Folders,
    build_release,
    instructor_notebook,
    notebook_text,
)

_COURSE = Path(__file__).parents[2]


def released_by_nbgrader(sources: list[Path], course: Path) -> dict[str, bytes]:
    """The release notebooks of a fresh nbgrader course in `course`, by lesson."""
    for path in sources:
        target = course / "source" / path.stem / f"{path.stem}.ipynb"
        target.parent.mkdir(parents=True)
        target.write_text(notebook_text(instructor_notebook(path)), encoding="utf-8")
    config = f"c = get_config()\nc.ClearSolutions.code_stub = {dict(NBGRADER_STUBS)!r}\n"
    (course / "nbgrader_config.py").write_text(config, encoding="utf-8")
    # nbgrader starts `alembic` by name: it is beside this interpreter
    path_with_alembic = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    command = [sys.executable, "-m", "nbgrader", "generate_assignment", "--assignment=*"]
    environment = {**os.environ, "PATH": path_with_alembic, "JUPYTER_CONFIG_DIR": str(course / "no-config")}
    done = subprocess.run(command, cwd=course, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return {
        path.stem: (course / "release" / path.stem / f"{path.stem}.ipynb").read_bytes() for path in sources
    }


def test_miniature_course(mini: Folders, tmp_path: Path) -> None:
    sources = [mini.source(name) for name in mini.names()]
    released = released_by_nbgrader(sources, tmp_path)
    assert released == {name: mini.notebook(name).read_bytes() for name in mini.names()}


@pytest.mark.slow
def test_real_course(tmp_path: Path) -> None:
    sources = sorted((_COURSE / "solutions").glob("[0-9]*.py"))
    if not sources:
        pytest.skip("the course has no lessons yet")
    released = released_by_nbgrader(sources, tmp_path)
    assert released == {path.stem: notebook_text(build_release(path)).encode() for path in sources}
