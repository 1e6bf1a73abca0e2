"""A Level: how well this machine can shut student code in. Plain data; it crosses to the warm process as text."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Literal

__all__ = ["Level"]


@dataclass(frozen=True)
class Level:
    """What isolates a submission.

    name          "bubblewrap": a private read-only root without network around the warm process; "landlock": none such,
                  Landlock and seccomp alone keep it from files and network; "none": nothing does
    namespaces    each submission has its own process ids, /tmp, /dev/shm and IPC
    landlock      the kernel's Landlock ABI, 0: it has none
    nobody        the run is root's, and each submission becomes the user nobody
    why           for each better level, why it does not work here
    """

    name: Literal["bubblewrap", "landlock", "none"]
    namespaces: bool = False
    landlock: int = 0
    nobody: bool = False
    why: tuple[str, ...] = ()

    @property
    def wrapped(self) -> bool:
        """The warm process runs inside bubblewrap."""
        return self.name == "bubblewrap"

    def describe(self) -> str:
        """One line for the head of a run, such as "bubblewrap (own namespaces, seccomp, Landlock 7)"."""
        if self.name == "none":
            return "none: student code runs with your rights"
        parts = ["own namespaces"] * self.namespaces + ["seccomp"]
        parts += [f"Landlock {self.landlock}"] * bool(self.landlock) + ["as nobody"] * self.nobody
        return f"{self.name} ({', '.join(parts)})"

    def as_text(self) -> str:
        """One line of JSON, for a command line."""
        return json.dumps(asdict(self))

    @classmethod
    def from_text(cls, text: str) -> Level:
        """What `as_text` wrote."""
        fields = json.loads(text)
        return cls(**{**fields, "why": tuple(fields["why"])})
