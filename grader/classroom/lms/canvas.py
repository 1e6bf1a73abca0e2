"""Zips from Canvas: "Download Submissions" on an assignment.

The names are made by ContentZipper in Canvas's own, public source (github.com/instructure/canvas-lms,
lib/content_zipper.rb): the sortable name in lower case, "LATE" where it was late, the Canvas user id, the id of
the uploaded file, and the name the student gave it, with "_" between:

    lovelaceada_LATE_4021_77345_02_relu-1.ipynb

Of the name only letters, digits and "_" are kept. An assignment graded anonymously has "anon_" and a code for name
and id, a group's work the group's name and one member's id. Texts typed into Canvas end in "_text.html", links in
"_link.html". The zip holds the last attempt alone, without its time. Canvas puts "-1", "-2" before the ending of a
file that was handed in under the same name again.
"""

from __future__ import annotations

import re

from grader.classroom.lms.archive import Archive
from grader.classroom.lms.piece import Layout, Person, Piece, Reading

__all__ = ["CANVAS"]

NAMED = re.compile(
    r"(?P<name>.*?)_?(?P<late>(?:(?<=_)|^)LATE_)?(?P<id>anon_[A-Za-z0-9]+|(?<![^_])\d+)_(?P<upload>\d+)_(?P<file>.+)",
    re.IGNORECASE | re.DOTALL,
)
TYPED = re.compile(r"(?P<who>.*(?:_|^)(?:anon_)?[A-Za-z0-9]+)_(?P<kind>text|link)\.html", re.IGNORECASE)
AGAIN = re.compile(r"-(\d{1,3})(?=\.[^.]*$|$)")


def _share(archive: Archive) -> float:
    flat = [m for m in archive.files if m.path.count("/") <= 1]  # zipped again, they lie in a folder
    return sum(bool(NAMED.fullmatch(m.name) or TYPED.fullmatch(m.name)) for m in flat) / max(len(archive.files), 1)


def _read(archive: Archive) -> Reading:
    pieces, others = [], {}
    for member in archive.files:
        typed, found = TYPED.fullmatch(member.name), NAMED.fullmatch(member.name)
        if found is None:
            what = {"text": "a text typed into Canvas", "link": "a link"}
            others[member.path] = (
                f"{what[typed['kind'].lower()]}, no file" if typed else "not named as Canvas names submissions"
            )
            continue
        person = _person(found)
        again = AGAIN.search(found["file"])
        order = (int(found["upload"]), int(again[1]) if again else 0)
        pieces.append(Piece((person,), found["file"], member, person.called, order=order, late=bool(found["late"])))
    return Reading(pieces, others)


def _person(found: re.Match[str]) -> Person:
    anonymous = found["id"].lower().startswith("anon_")
    called = found["id"] if anonymous else f"{found['name']} ({found['id']})"
    return Person(called, name=found["name"], lms_ids=() if anonymous else (found["id"],), anonymous=anonymous)


CANVAS = Layout("canvas", _share, _read)
