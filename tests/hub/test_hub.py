"""A lesson's whole way on a real JupyterHub, with real accounts; and what no student can do there."""

from __future__ import annotations

import json
import re
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

import grader.exercises
from tests.hub.conftest import CLASS, EXCHANGE, STUDENTS
from tests.hub.machine import Machine
from tests.hub.people import Hub, Person

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

LESSON = "02_relu"
NOTEBOOK = f"{LESSON}/{LESSON}.ipynb"
INBOUND = f"{EXCHANGE}/autograd/inbound"
NO_UPSTREAM = """\
class MyReLU(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return (x > 0).to(x.dtype)
"""
RIGHT = NO_UPSTREAM.replace("return (x > 0).to(x.dtype)", "return g * (x > 0)")
DENIED = ("EACCES", "EPERM")
COMMENT = "Well mended. Now do the same for the leaky one."


def test_a_lesson_from_release_to_feedback(server: Machine, running: Hub, pictures: Path | None) -> None:
    relu = grader.exercises.get("relu")
    mistake = next(m for m in relu.misconceptions if m.id == "no_upstream")
    teacher, ada, bo, cy = (running.log_in(name, f"password of {name}") for name in ("teacher", *STUDENTS))
    courses = teacher.own("formgraders")["value"]
    assert [(course["course_id"], course["kind"]) for course in courses] == [("autograd", "local")]

    teacher.log(f"assignment/{LESSON}/release")
    fetch_and_answer(ada, NO_UPSTREAM, pictures)
    for person, answer in ((bo, RIGHT), (cy, "")):
        person.own("assignments/fetch", {"course_id": "autograd", "assignment_id": LESSON})
        write_answer(person, answer)
    submit(ada)
    submit(bo)
    forge(server)

    # First round: collected, and graded with the formgrader's button.
    log = teacher.log(f"assignment/{LESSON}/collect")
    assert "in the name of bo but was handed in by cy" in log
    assert "its name is not that of a submission" in log
    assert "Dated 2026-01-01 10:00:00, but written" in log
    assert server.run("ls", f"{CLASS}/submitted", user="teacher").split() == ["ada", "bo", "cy"]
    assert "link" not in server.run("ls", f"{CLASS}/submitted/cy/{LESSON}", user="teacher")
    for name in STUDENTS:
        teacher.log(f"submission/{LESSON}/{name}/autograde")
    found = scores(teacher)
    assert found["ada"] < found["bo"] == relu.points
    assert found["cy"] == 0
    teacher.log(f"assignment/{LESSON}/generate_feedback")
    assert "Feedback of cy not released" in teacher.log(f"assignment/{LESSON}/release_feedback")
    assert mistake.sentence in feedback(ada)

    # Ada hands in again, late; the class is graded with `grader grade`.
    due = datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S.%f")
    teacher.own(
        f"formgrader/api/assignment/{LESSON}",
        {"duedate_notimezone": due, "duedate_timezone": "+0000"},
        method="PUT",
    )
    time.sleep(0.1)
    write_answer(ada, RIGHT)
    submit(ada)
    teacher.log(f"assignment/{LESSON}/collect")
    grade(server)
    assert scores(teacher) == {"ada": relu.points, "bo": relu.points, "cy": 0}
    assert late(server) == {"ada": True, "bo": False, "cy": False}

    # A person's comment and points stay when all is graded again, by either way.
    ids = {row["student"]: row["id"] for row in teacher.own(f"formgrader/api/submitted_notebooks/{LESSON}/{LESSON}")}
    comment = teacher.own(f"formgrader/api/comments?submission_id={ids['ada']}")[0]
    teacher.own(f"formgrader/api/comment/{comment['id']}", {"manual_comment": COMMENT}, method="PUT")
    mark = teacher.own(f"formgrader/api/grades?submission_id={ids['cy']}")[0]
    teacher.own(f"formgrader/api/grade/{mark['id']}", {"manual_score": 1.5, "extra_credit": 0.5}, method="PUT")
    grade(server, "regrade")
    teacher.log(f"submission/{LESSON}/ada/autograde")
    teacher.log(f"submission/{LESSON}/cy/autograde")
    assert scores(teacher) == {"ada": relu.points, "bo": relu.points, "cy": 2}
    look_at_the_formgrader(teacher, ids["ada"], pictures)

    # Feedback goes out; each sees their own page, of their last attempt.
    teacher.log(f"assignment/{LESSON}/generate_feedback")
    teacher.log(f"assignment/{LESSON}/release_feedback")
    pages = {person.name: feedback(person) for person in (ada, bo)}
    assert COMMENT in pages["ada"]
    assert "Your instructor writes" not in pages["bo"]
    assert mistake.sentence not in pages["ada"]
    assert all("HIDDEN TESTS" not in page for page in pages.values())
    read_the_feedback(ada, pictures)
    nothing_is_open_to_students(server, running, ada)
    an_assistant_uses_the_same_formgrader(running)


# ---- what people do --------------------------------------------------------------------------------------------------


def fetch_and_answer(person: Person, answer: str, pictures: Path | None) -> None:
    """Fetch with the Assignment List's button, in the browser."""
    page = person.page
    page.get_by_role("menuitem", name="Nbgrader", exact=True).click()
    expect(page.get_by_role("menuitem", name="Formgrader")).to_have_count(0)
    page.get_by_role("menuitem", name="Assignment List").click()
    page.get_by_role("button", name="Fetch", exact=True).click()
    expect(page.get_by_role("button", name="Submit", exact=True)).to_be_visible()
    if pictures:
        page.screenshot(path=pictures / "hub-assignments.png")
    write_answer(person, answer)


def write_answer(person: Person, answer: str) -> None:
    """Edit the notebook as JupyterLab saves it."""
    content = person.own(f"api/contents/{NOTEBOOK}")["content"]
    cell = next(cell for cell in content["cells"] if cell.get("id") == "relu")
    cell["source"] = answer or cell["source"]
    person.own(f"api/contents/{NOTEBOOK}", {"type": "notebook", "content": content}, method="PUT")


def submit(person: Person) -> None:
    person.own("assignments/submit", {"course_id": "autograd", "assignment_id": LESSON})


def forge(server: Machine) -> None:
    """Cy hands in by hand: links to what only the teacher can read, in Bo's name, under a name that stops nbgrader."""
    script = f"""
    set -e
    cd {INBOUND}
    for name in 'cy+{LESSON}+2026-01-01 10:00:00 UTC+a' 'bo+{LESSON}+2099-01-01 10:00:00 UTC+b' 'cy+{LESSON}+when+c'; do
        mkdir "$name"
        cp ~/{NOTEBOOK} "$name"
        echo '2026-01-01 10:00:00 UTC' > "$name/timestamp.txt"
        ln -s {CLASS}/.grader/secret "$name/link.txt"
        ln -s {CLASS}/source "$name/linked"
        mkfifo "$name/pipe"
    done
    """
    server.run("bash", "-c", script, user="cy")


def grade(server: Machine, command: str = "grade") -> None:
    server.run(sys.executable, "-m", "grader", command, CLASS, "--lesson", LESSON, "--yes", user="teacher")


def scores(teacher: Person) -> dict[str, float]:
    rows = teacher.own(f"formgrader/api/submissions/{LESSON}")
    return {row["student"]: row["score"] for row in rows}


def late(server: Machine) -> dict[str, bool]:
    """Who handed in late, by the gradebook."""
    script = f"""
import json
from nbgrader.api import Gradebook
with Gradebook("sqlite:///{CLASS}/gradebook.db") as book:
    print(json.dumps({{s.student_id: s.total_seconds_late > 0 for s in book.assignment_submissions("{LESSON}")}}))
"""
    told: dict[str, bool] = json.loads(server.run(sys.executable, "-c", script, user="teacher"))
    return told


def look_at_the_formgrader(teacher: Person, submission: str, pictures: Path | None) -> None:
    """By the Course List, in the browser."""
    page = teacher.page
    page.get_by_role("menuitem", name="Nbgrader", exact=True).click()
    page.get_by_role("menuitem", name="Course List").click()
    expect(page.get_by_role("link", name="autograd")).to_be_visible()
    page.goto(f"{teacher.url}/user/teacher/formgrader/submissions/{submission}")
    expect(page.get_by_text("class MyReLU").first).to_be_visible()
    expect(page.locator("textarea.comment").first).to_have_value(COMMENT)
    if pictures:
        page.screenshot(path=pictures / "hub-formgrader.png")


def an_assistant_uses_the_same_formgrader(running: Hub) -> None:
    assistant = running.log_in("assistant", "password of assistant")
    assistant.page.goto(f"{running.url}/user/teacher/formgrader/")
    assistant.page.get_by_role("button", name="Authorize").click()
    expect(assistant.page.get_by_role("link", name=LESSON)).to_be_visible()


def feedback(person: Person) -> str:
    """Fetch the feedback; the page of the last attempt."""
    told = person.own("assignments/fetch_feedback", {"course_id": "autograd", "assignment_id": LESSON})
    sent = next(entry for entry in told["value"] if entry["status"] == "submitted")["submissions"]
    assert sent[-1]["has_local_feedback"], sent
    return person.ask(f"user/{person.name}/files/{page_of(sent[-1])}").text()


def page_of(submission: dict[str, Any]) -> str:
    return f"{submission['local_feedback_path']}/{LESSON}.html"


def read_the_feedback(person: Person, pictures: Path | None) -> None:
    sent = person.own("assignments?course_id=autograd")["value"][-1]["submissions"]
    person.page.goto(f"{person.url}/user/{person.name}/files/{page_of(sent[-1])}")
    expect(person.page.get_by_text(COMMENT)).to_be_visible()
    if pictures:
        person.page.screenshot(path=pictures / "hub-feedback.png", full_page=True)


# ---- what nobody can do ----------------------------------------------------------------------------------------------


def nothing_is_open_to_students(server: Machine, running: Hub, ada: Person) -> None:
    """Each attempt works for whom it is meant for, and fails for Ada."""
    of_bo = re.findall(rf"bo\+{LESSON}\+.*UTC", server.run("ls", INBOUND, user="teacher"))
    servers = server.run("pgrep", "--euid", "bo", "--full", "singleuser").split()
    attempts = {
        "teacher": [
            ["list", CLASS],
            ["read", f"{CLASS}/source/{NOTEBOOK}"],
            ["read", f"{CLASS}/.grader/secret"],
            ["read", f"{CLASS}/gradebook.db"],
            ["change", f"{CLASS}/gradebook.db"],
            ["read", f"{CLASS}/submitted/bo/{NOTEBOOK}"],
            ["read", f"{CLASS}/autograded/bo/{NOTEBOOK}"],
            ["read", f"{CLASS}/feedback/bo/{LESSON}/{LESSON}.html"],
            ["list", INBOUND],
            ["watch", INBOUND],
            ["list", f"{EXCHANGE}/autograd/feedback"],
            ["put into", f"{EXCHANGE}/autograd/feedback"],
            ["put into", f"{EXCHANGE}/autograd/outbound"],
            ["change", f"{EXCHANGE}/autograd/outbound/{NOTEBOOK}"],
        ],
        "bo": [
            ["list", "/home/bo"],
            ["read", f"/home/bo/{NOTEBOOK}"],
            ["list", "/home/bo/.local/share/jupyter/nbgrader_cache/autograd"],
            ["read", f"/proc/{servers[0]}/environ"],
        ],
        "root": [["list", "/srv/jupyterhub"], ["read", "/srv/jupyterhub/jupyterhub.sqlite"]],
    }
    for owner, theirs in attempts.items():
        assert [each for each in outcomes(server, "ada", theirs) if each[1] not in DENIED] == []
        assert [each for each in outcomes(server, owner, theirs) if each[1] != "done"] == []
    blind = [["read", f"{INBOUND}/{name}/{LESSON}.ipynb"] for name in of_bo]  # all but the random part of the name
    assert blind
    assert {why for _, why in outcomes(server, "ada", blind)} == {"ENOENT"}
    for place in (EXCHANGE + "/autograd", INBOUND):  # the exchange itself is open to all
        assert outcomes(server, "ada", [["move", place]])[0][1] in DENIED

    for path in ("user/bo/api/contents", "user/teacher/formgrader/", "hub/api/users", "hub/api/users/bo"):
        assert ada.ask(path).status in (403, 404), path
    assert ada.ask("user/ada/formgrader/api/assignments").status == 404


def outcomes(server: Machine, user: str, attempts: list[list[str]]) -> list[tuple[str, str]]:
    script = str(Path(__file__).with_name("attempts.py"))
    told = json.loads(server.run(sys.executable, script, user=user, stdin=json.dumps(attempts)))
    return [(str(attempt), why) for attempt, why in zip(attempts, told, strict=True)]
