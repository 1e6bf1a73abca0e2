"""Names of files as a student chose them, made such that any system can hold them, and all of them at once."""

from __future__ import annotations

import hashlib
import re
from pathlib import PurePosixPath

__all__ = ["free_place", "safe_name", "safe_path"]

LONGEST = 150  # bytes of a name; 255 are allowed


def safe_path(path: str) -> str:
    """A path whose parts are safe names; `archive` has seen to it that it does not lead out of its folder."""
    return "/".join(map(safe_name, path.split("/")))


def safe_name(name: str) -> str:
    """A name without letters that some system forbids, shortened where it is too long."""
    name = re.sub(r'[\x00-\x1f\x7f<>:"|?*\\/]', "_", name)
    if name in ("", ".", ".."):
        return "_"
    if len(name.encode()) <= LONGEST:
        return name
    stem, dot, ending = name.rpartition(".")
    short = (stem if dot else name).encode()[: LONGEST - 60].decode(errors="ignore")
    return f"{short}-{hashlib.sha256(name.encode()).hexdigest()[:8]}{dot}{ending[:10]}"


def free_place(path: str, taken: set[str]) -> str:
    """`path`, or one like it, such that it is none of `taken` and neither is a folder of the other; and take it.

    Upper and lower case count as the same, as some systems have it.
    """
    wanted, number = PurePosixPath(safe_path(path)), 1
    place = wanted
    while _clashes(str(place).casefold(), taken):
        number += 1
        top = PurePosixPath(f"{wanted.parts[0]}-{number}")
        place = (
            top.joinpath(*wanted.parts[1:]) if len(wanted.parts) > 1 else wanted.with_stem(f"{wanted.stem}-{number}")
        )
    taken.add(str(place).casefold())
    return str(place)


def _clashes(place: str, taken: set[str]) -> bool:
    parents = {str(parent) for parent in PurePosixPath(place).parents}
    return place in taken or not parents.isdisjoint(taken) or any(other.startswith(f"{place}/") for other in taken)
