"""README.md tells the truth: it lists every lesson and every folder, and every command in it exists."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import click

from grader.cli import main

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = ("README.md", "CONTRIBUTING.md", *sorted(f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md")))
README = (ROOT / "README.md").read_text(encoding="utf-8")
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))


def code_spans(text: str) -> str:
    """Everything set as code, fenced or inline, a line each."""
    return "\n".join(re.findall(r"^```.*?^```|`[^`\n]+`", text, re.MULTILINE | re.DOTALL))


def test_it_lists_every_lesson() -> None:
    lessons = [path.stem for path in sorted((ROOT / "solutions").glob("[0-9]*.py"))]
    assert [name for name in lessons if name not in README] == []
    assert not [name for name in re.findall(r"\b\d\d_[a-z_]+\b", README) if name not in lessons]


def test_it_lists_every_folder() -> None:
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    folders = {line.split("/")[0] for line in tracked.splitlines() if "/" in line}
    assert [name for name in sorted(folders) if f"`{name}/" not in README] == []


def test_every_command_in_the_documents_exists() -> None:
    assert isinstance(main, click.Group)
    for name in DOCUMENTS:
        code = code_spans((ROOT / name).read_text(encoding="utf-8"))
        assert set(re.findall(r"(?<!\S)`?make ([a-z-]+)", code)) <= TARGETS, name
        assert set(re.findall(r"(?<!\S)`?grader ([a-z-]+)", code)) <= set(main.commands), name


def test_every_link_and_picture_into_the_repository_exists() -> None:
    for name in DOCUMENTS:
        targets = re.findall(r"\]\(([^)#\s]+)", (ROOT / name).read_text(encoding="utf-8"))
        place = (ROOT / name).parent
        missing = [target for target in targets if "://" not in target and not (place / target).exists()]
        assert missing == [], name


def test_make_help_names_every_target() -> None:
    command = ["make", "-s", "help"]
    shown = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert set(re.findall(r"make ([a-z-]+)", shown)) == TARGETS
