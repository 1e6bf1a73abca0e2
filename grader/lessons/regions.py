"""The marked regions of a cell: solutions, of which students get a stub, and hidden tests.

nbgrader finds its delimiters by plain search in every line of every cell, prose included; a delimiter without
its partner swallows the rest of the cell. So they are read strictly here, before nbgrader sees them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

__all__ = [
    "DELIMITER_WORDS",
    "HIDDEN",
    "SOLUTION",
    "STUB",
    "Region",
    "find_regions",
    "region_faults",
    "stubbed",
]

SOLUTION = "SOLUTION"
HIDDEN = "HIDDEN TESTS"
STUB = "raise NotImplementedError"
"""What stands in a student notebook where the source has a solution."""

DELIMITER_WORDS = tuple(
    f"{edge} {kind}" for kind in (SOLUTION, HIDDEN, "MARK SCHEME") for edge in ("BEGIN", "END")
)
_DELIMITER = re.compile(rf"\s*### (BEGIN|END) ({SOLUTION}|{HIDDEN})")


@dataclass(frozen=True)
class Region:
    """A region of a cell: `begin` and `end` are the indices of its two delimiter lines in the cell."""

    kind: str
    begin: int
    end: int
    lines: tuple[str, ...]


def find_regions(source: str) -> list[Region]:
    """All complete regions of a cell, in order."""
    regions, opened, lines = [], -1, source.split("\n")
    for index, line in enumerate(lines):
        edge, kind = _delimiter(line)
        if edge == "BEGIN":
            opened = index
        elif edge == "END" and opened >= 0:
            regions.append(Region(kind, opened, index, tuple(lines[opened + 1 : index])))
            opened = -1
    return regions


def region_faults(source: str) -> Iterator[tuple[int, str]]:
    """Every delimiter that is misspelt or lacks its partner, as (index of the line, what is wrong)."""
    opened: tuple[int, str] | None = None
    for index, line in enumerate(source.split("\n")):
        edge, kind = _delimiter(line)
        if edge == "BEGIN":
            if opened:
                yield (
                    index,
                    f"a second BEGIN before the region above has its `### END {opened[1]}`: add that first",
                )
            opened = index, kind
        elif edge == "END":
            if opened is None or opened[1] != kind:
                yield index, f"END {kind} without a BEGIN {kind} before it: add the first or remove the last"
            opened = None
    if opened:
        yield opened[0], f"BEGIN {opened[1]} is never closed: add a line `### END {opened[1]}`"


def stubbed(source: str) -> str:
    """A code cell as the student gets it: a stub for each solution, nothing for hidden tests."""
    lines = source.split("\n")
    for region in reversed(find_regions(source)):
        begin = lines[region.begin]
        indent = begin[: len(begin) - len(begin.lstrip())]
        lines[region.begin : region.end + 1] = [indent + STUB] if region.kind == SOLUTION else []
    return "\n".join(lines)


def _delimiter(line: str) -> tuple[str, str]:
    match = _DELIMITER.fullmatch(line)
    return (match[1], match[2]) if match else ("", "")
