"""The journal: what grading came to, kept as soon as it is known, by what it depends on.

A run that is killed finds here what it had done, and a submission equal to a graded one is not run again. A file for
each key, written whole or not at all: a damaged one is as good as none.
"""

from __future__ import annotations

import json
from dataclasses import asdict

from grader.classroom.folder import ClassFolder, write_atomically
from grader.grading.work import Graded

__all__ = ["Verdicts"]


class Verdicts:
    """The journal of a class, in .grader/verdicts."""

    def __init__(self, folder: ClassFolder) -> None:
        self.folder = folder

    def get(self, key: str) -> Graded | None:
        """What is known for a key; None where nothing is, or nothing that can be read."""
        try:
            found = Graded(**self.folder.read_json(_name(key)))
        except TypeError:
            return None
        return found if found.key == key and isinstance(found.outputs, list) else None

    def put(self, graded: Graded) -> None:
        write_atomically(self.folder.private / _name(graded.key), json.dumps(asdict(graded)))

    def forget(self, key: str) -> None:
        (self.folder.private / _name(key)).unlink(missing_ok=True)


def _name(key: str) -> str:
    return f"verdicts/{key[:2]}/{key}.json"
