"""The package's exceptions, as a tree:

GraderError            a user's mistake or a broken input; its text is the whole message, shown without a traceback
└── IllPosedTest       our own inputs could not have revealed the fault: a defect of the test, never the student's
"""

from __future__ import annotations

__all__ = ["GraderError", "IllPosedTest"]


class GraderError(Exception):
    """Something the user can mend. The message says what was observed, the likely cause and what to do."""


class IllPosedTest(GraderError):
    """A check was given inputs that cannot tell right from wrong, so no verdict may be drawn from it."""
