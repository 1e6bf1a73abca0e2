"""nbgrader's exchange on one JupyterLab server, through nbgrader's own commands; and what students put into it by hand.

Accounts of their own, and what one account cannot do to another, are in tests/hub.
"""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest
from click.testing import CliRunner
from nbformat import NotebookNode
from nbgrader.api import Gradebook
from nbgrader.coursedir import CourseDirectory
from nbgrader.exchange.default import ExchangeCollect

from grader.classroom.create import new_class
from grader.classroom.exchange import CollectOwn, ReleaseReady, make_exchange
from grader.classroom.folder import ClassFolder
from grader.classroom.run import grade_class
from grader.classroom.settings import load_config
from grader.cli import main
from grader.errors import GraderError

STUDENTS_SETTINGS = Path(__file__).resolve().parents[2] / "examples" / "hub" / "students" / "nbgrader_config.py"
LESSON = "00_warm_up"


@pytest.fixture
def shared(tmp_path: Path, tiny_lessons: dict[str, NotebookNode]) -> ClassFolder:
    """A class with an exchange, where everyone works under one account."""
    folder = new_class(tmp_path / "tiny", lessons=tiny_lessons, exchange=tmp_path / "exchange").folder
    with folder.config_file.open("a") as file:
        file.write("c.ExchangeCollect.check_owner = False\n")
    return folder


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_the_folders_have_rights_that_keep_students_apart(shared: ClassFolder) -> None:
    exchange = shared.root.parent / "exchange"
    assert mode(shared.root) == 0o700
    assert mode(exchange) == 0o1777
    course = exchange / "tiny"
    rights = {name: mode(course / name) for name in ("outbound", "inbound", "feedback")}
    assert rights == {"outbound": 0o755, "inbound": 0o2733, "feedback": 0o711}
    assert make_exchange(exchange, "tiny") == course  # again


def test_an_exchange_without_the_sticky_bit_is_refused(tmp_path: Path) -> None:
    (tmp_path / "exchange").mkdir()
    (tmp_path / "exchange").chmod(0o777)
    with pytest.raises(GraderError, match=r"mode 0777.*sudo chmod 1777"):
        make_exchange(tmp_path / "exchange", "tiny")


def test_a_folder_that_another_made_first_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_exchange(tmp_path / "exchange", "tiny")
    mine = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: mine + 1)
    with pytest.raises(GraderError, match="another account's"):
        make_exchange(tmp_path / "exchange", "tiny")


def test_an_exchange_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(GraderError, match="sudo install -d -m 1777"):
        make_exchange(tmp_path / "file" / "exchange", "tiny")


def test_settings_that_name_another_exchange_are_not_overwritten(shared: ClassFolder) -> None:
    before = shared.config_file.read_text()
    other = shared.root.parent / "other"
    result = CliRunner().invoke(main, ["new-class", str(shared.root), "--exchange", str(other)])
    assert result.exit_code == 2
    assert f"c.Exchange.root = '{other}'" in result.stderr
    assert shared.config_file.read_text() == before
    assert not other.exists()


# ---- what lies in inbound, collected in this process -----------------------------------------------------------------

HandIn = Callable[..., Path]


@pytest.fixture
def hand_in(shared: ClassFolder) -> HandIn:
    def by_hand(name: str, text: str = "by hand") -> Path:
        place = shared.root.parent / "exchange" / "tiny" / "inbound" / name
        place.mkdir()
        (place / f"{LESSON}.ipynb").write_text(text)
        (place / "timestamp.txt").write_text(name.split("+")[2])
        return place

    return by_hand


def collect(folder: ClassFolder, kind: type[ExchangeCollect] = CollectOwn, **settings: bool) -> list[str]:
    """Collect; the files taken in, as paths under submitted/."""
    config = load_config(folder)
    config.ExchangeCollect.update(settings)
    about = CourseDirectory(config=config)
    about.assignment_id = LESSON
    kind(coursedir=about, authenticator=None, config=config).start()
    submitted = folder.root / "submitted"
    return sorted(str(path.relative_to(submitted)) for path in submitted.rglob("*") if not path.is_dir())


def test_links_and_pipes_are_left_out(shared: ClassFolder, hand_in: HandIn) -> None:
    place = hand_in(f"ada+{LESSON}+2026-01-01 10:00:00 UTC+x")
    (place / "secret.txt").symlink_to(shared.secret_file)
    (place / "source").symlink_to(shared.root / "source")
    os.mkfifo(place / "pipe")
    (place / "data").mkdir()
    (place / "data" / "numbers.txt").write_text("1 2 3")
    files = [f"ada/{LESSON}/{LESSON}.ipynb", f"ada/{LESSON}/data/numbers.txt", f"ada/{LESSON}/timestamp.txt"]
    assert collect(shared) == files


def test_nbgrader_itself_takes_what_a_link_points_to(shared: ClassFolder, hand_in: HandIn) -> None:
    """Why CollectOwn is there. When nbgrader mends this, it can go."""
    place = hand_in(f"ada+{LESSON}+2026-01-01 10:00:00 UTC+x")
    (place / "secret.txt").symlink_to(shared.secret_file)
    collect(shared, ExchangeCollect)
    assert (shared.submitted("ada", LESSON) / "secret.txt").read_text().strip() == shared.secret()


def test_a_name_that_says_nothing_stops_nobody(shared: ClassFolder, hand_in: HandIn) -> None:
    hand_in(f"cy+{LESSON}+when+x")
    hand_in(f"..+{LESSON}+2026-01-01 10:00:00 UTC+x")
    hand_in(f"ada+{LESSON}+2026-01-01 10:00:00 UTC+x")
    assert {path.split("/")[0] for path in collect(shared)} == {"ada"}
    assert not (shared.root / LESSON).exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder to another account")
def test_the_owner_counts_not_the_name(shared: ClassFolder, hand_in: HandIn, monkeypatch: pytest.MonkeyPatch) -> None:
    forged = hand_in(f"ada+{LESSON}+2026-01-02 10:00:00 UTC+x", "forged")
    hand_in(f"ada+{LESSON}+2026-01-01 10:00:00 UTC+x", "ada's own")
    hand_in(f"bo+{LESSON}+2026-01-01 10:00:00 UTC+x", "forged")
    os.chown(forged, 12345, -1)
    monkeypatch.setattr("grader.classroom.exchange._account", {os.geteuid(): "ada", 12345: "cy"}.get)
    collect(shared, check_owner=True)
    assert (shared.submitted("ada", LESSON) / f"{LESSON}.ipynb").read_text() == "ada's own"
    assert not shared.submitted("bo", LESSON).exists()


def test_a_page_that_cannot_be_addressed_holds_up_no_other(shared: ClassFolder) -> None:
    for name, files in {"ada": ("timestamp.txt", "submission_secret.txt"), "bo": ("timestamp.txt",)}.items():
        place = shared.feedback(name, LESSON).parent
        place.mkdir(parents=True)
        for file in (f"{LESSON}.html", *files):
            (place / file).write_text(f"{file} of {name}")
    config = load_config(shared)
    about = CourseDirectory(config=config)
    about.assignment_id = LESSON
    ReleaseReady(coursedir=about, authenticator=None, config=config).start()
    released = list((shared.root.parent / "exchange" / "tiny" / "feedback").iterdir())
    assert [page.read_text() for page in released] == [f"{LESSON}.html of ada"]


# ---- nbgrader's own commands, from release to feedback ---------------------------------------------------------------


class Desk:
    """A person's home, in which they run nbgrader's commands."""

    def __init__(self, folder: ClassFolder, name: str) -> None:
        self.home, self.name = folder.root.parent / name, name
        (self.home / "settings").mkdir(parents=True)
        text = STUDENTS_SETTINGS.read_text().replace("/srv/nbgrader/exchange", str(folder.root.parent / "exchange"))
        (self.home / "settings" / "nbgrader_config.py").write_text(text.replace('"autograd"', '"tiny"'))

    def nbgrader(self, *words: str) -> str:
        """stderr of the command, run as this student."""
        env = {"HOME": str(self.home), "JUPYTER_CONFIG_PATH": str(self.home / "settings")}
        return run(*words, f"--student={self.name}", cwd=self.home, env=env)

    def answer(self, old: str, new: str) -> None:
        path = self.home / LESSON / f"{LESSON}.ipynb"
        notebook = nbformat.read(path, as_version=4)
        for cell in notebook.cells:
            if cell.id in ("double", "triple"):
                cell.source = cell.source.replace(old, new)
        nbformat.write(notebook, path)


def run(*words: str, cwd: Path, env: dict[str, str]) -> str:
    command = [sys.executable, "-m", "nbgrader", *words]
    done = subprocess.run(command, cwd=cwd, env={**os.environ, **env}, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr
    return done.stderr


@pytest.mark.slow
def test_from_release_to_feedback_by_nbgraders_commands(shared: ClassFolder) -> None:
    def teacher(*words: str) -> str:
        return run(*words, cwd=shared.root, env={})

    teacher("release_assignment", LESSON)
    ada, bo = Desk(shared, "ada"), Desk(shared, "bo")
    for desk, answer in ((ada, "return 3 * x"), (bo, "return 2 * x")):
        desk.nbgrader("fetch_assignment", LESSON)
        desk.answer("raise NotImplementedError", answer)
        desk.nbgrader("submit", LESSON)
    with Gradebook(shared.gradebook_url) as book:
        latest = max(path.read_text() for path in shared.root.parent.glob("*/.local/share/jupyter/*/*/*/timestamp.txt"))
        book.update_or_create_assignment(LESSON, duedate=latest)
    ada.answer("return 3 * x", "return 2 * x")
    ada.nbgrader("submit", LESSON)  # again, late

    assert "Collecting submission: ada" in teacher("collect", LESSON)
    grade_class(shared.root)
    with Gradebook(shared.gradebook_url) as book:
        found = {s.student_id: (s.score, s.total_seconds_late > 0) for s in book.assignment_submissions(LESSON)}
    assert found == {"ada": (2, True), "bo": (2, False)}  # `triple` is wrong in both

    teacher("generate_feedback", LESSON)
    teacher("release_feedback", LESSON)
    for desk in (ada, bo):
        desk.nbgrader("fetch_feedback", LESSON)
        pages = list(desk.home.glob(f"{LESSON}/feedback/*/{LESSON}.html"))
        assert len(pages) == 1
        assert desk.name in pages[0].read_text()
        assert "secret_points" not in pages[0].read_text()
