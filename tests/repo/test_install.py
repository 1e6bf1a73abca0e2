"""An installed copy, without the checkout: `pip install .` and `grader learn` must work from any folder."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.jupyterlab import serving

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The distribution that pip builds of this checkout."""
    folder = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "wheel", "--no-deps", "--wheel-dir", folder, ROOT], check=True, timeout=280)
    (built,) = folder.glob("*.whl")
    return built


def test_it_holds_every_lesson_and_no_solution(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    lessons = {path.name for path in (ROOT / "notebooks").glob("*.ipynb")}
    assert {Path(name).name for name in names if name.startswith("grader/notebooks/")} >= lessons
    assert [name for name in names if "solutions" in name or "tests/" in name] == []
    with_answers = [path.read_text(encoding="utf-8") for path in (ROOT / "solutions").glob("*.py")]
    for name in names:
        content = zipfile.ZipFile(wheel).read(name).decode("utf-8", errors="replace")
        assert content not in with_answers, name


def test_the_course_is_served_from_the_installed_copy(wheel: Path, tmp_path: Path) -> None:
    installed = tmp_path / "site"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(installed)
    env = {"PYTHONPATH": str(installed)}
    command = [sys.executable, "-c", "import grader; print(grader.__file__)"]
    everything = {**os.environ, **env}
    where = subprocess.run(command, cwd=tmp_path, env=everything, capture_output=True, text=True, check=True)
    assert where.stdout.startswith(str(installed)), "else this test says nothing"

    with serving(tmp_path / "somewhere" / "mine", env=env) as course:
        served = sorted(path.name for path in course.folder.glob("*.ipynb"))
    assert served == sorted(path.name for path in (ROOT / "notebooks").glob("*.ipynb"))


def test_what_needs_the_sources_says_so_in_an_installed_copy(wheel: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")
    for command in (["build"], ["lint"], ["new-class", "class"]):
        ran = subprocess.run(
            [sys.executable, "-m", "grader", *command],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(tmp_path / "site")},
            capture_output=True,
            text=True,
            timeout=280,
            check=False,
        )
        assert ran.returncode == 2, (command, ran.stdout, ran.stderr)
        assert "solutions" in ran.stderr
        assert "Traceback" not in ran.stderr
