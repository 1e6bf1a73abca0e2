"""What lateness costs, as a plugin of nbgrader: the rules of class.toml, in its commands, the formgrader and ours."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from nbgrader.plugins import LateSubmissionPlugin
from traitlets import Unicode

from grader.classroom.terms import read_terms

__all__ = ["LatePolicy"]


class LatePolicy(LateSubmissionPlugin):  # type: ignore[misc]
    """Days late are counted by the class's clock, and each costs what class.toml says.

    Without a [late] in there nbgrader's own `penalty_method` counts. Amounts are for a lesson of one notebook.
    """

    file = Unicode("", help="The class's class.toml.").tag(config=True)

    def late_submission_penalty(self, student_id: str, score: float, total_seconds_late: float) -> float | None:
        """The points to take off; None: none. nbgrader asks for work that came after it was due, extensions counted."""
        terms = read_terms(Path(self.file))
        if terms.late is None:
            found: float | None = super().late_submission_penalty(student_id, score, total_seconds_late)
            return found
        asking: Any = self.parent  # AssignLatePenalties, which has the gradebook open
        work = asking.gradebook.find_submission(asking.assignment_id, student_id)
        notebook = asking.gradebook.find_submission_notebook(asking.notebook_id, asking.assignment_id, student_id)
        days = terms.days_late(work.duedate, work.timestamp)
        return terms.late.penalty(days, earned=score, possible=notebook.max_score) or None
