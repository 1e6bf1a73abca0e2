"""nbgrader_config.py: the text a new class gets, what `configure` plugs into nbgrader, and how we read it
back.

The file is the instructor's: it is written once and never overwritten. What must hold for our tests to be
scored right stands in `configure`, which the file calls first, so that nbgrader's own commands and the
formgrader's buttons get it too.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Any

from traitlets.config import Config
from traitlets.config.loader import PyFileConfigLoader

from grader.classroom.folder import ClassFolder
from grader.errors import GraderError

__all__ = ["config_text", "configure", "find_alembic", "gradebook_url", "load_config", "setting"]

TEMPLATE = '''\
"""Settings of this class, read by `grader grade` and by every nbgrader command started in this folder.

Yours to edit: `grader new-class` never overwrites this file. Dates and lateness stand in class.toml.
"""

from pathlib import Path

from grader.classroom.settings import configure

c = get_config()  # noqa: F821 (nbgrader provides it)

# Which folder and course this is, and the parts that grade: mending, running, feedback without hidden tests.
configure(c, root=Path(__file__).resolve().parent, course={course!r})

# How long a cell and a whole submission may take, in seconds, and how much a cell may print, in bytes.
c.ExecuteLesson.timeout = 30
c.ExecuteLesson.submission_timeout = 300
c.ExecuteLesson.max_output_bytes = 200_000
c.LimitOutput.max_lines = 1000

# Notebooks larger than this are refused with a message to the student (stored outputs are the usual reason).
c.GradingRun.max_notebook_megabytes = 20

# Several graders at once: a PostgreSQL database of its own for this class, in the place of gradebook.db. Backups of it
# (pg_dump) are then yours to make.
# c.CourseDirectory.db_url = "postgresql+psycopg://USER:PASSWORD@HOST/DATABASE"

# Handing lessons out and taking them in on a shared machine, see docs/deployments.md.
{exchange}
'''


def config_text(folder: ClassFolder, exchange: Path | None = None) -> str:
    """The nbgrader_config.py of a new class, named after its folder; `exchange`: where nbgrader's exchange is."""
    line = f"c.Exchange.root = {str(exchange)!r}" if exchange else '# c.Exchange.root = "/srv/nbgrader/exchange"'
    course = re.sub(r"[^\w.-]+", "_", folder.name).strip("_.") or "class"
    return TEMPLATE.format(course=course, exchange=line)


def configure(c: Config, *, root: Path, course: str) -> None:
    """What every class needs, for all nbgrader commands: stubs, repair, execution, feedback."""
    from nbconvert.preprocessors import ClearMetadataPreprocessor
    from nbgrader import preprocessors as stock

    from grader.classroom.exchange import CollectOwn, ReleaseReady
    from grader.classroom.execute import ExecuteLesson
    from grader.classroom.feedback_page import FeedbackPage
    from grader.classroom.late import LatePolicy
    from grader.classroom.preprocessors import RepairSubmission, TermDates

    find_alembic()
    c.CourseDirectory.root = str(root)
    c.CourseDirectory.course_id = course
    c.ClearSolutions.code_stub = {"python": "raise NotImplementedError"}
    folder = ClassFolder(root)
    c.ExecuteLesson.secret_file = str(folder.secret_file)
    c.RepairSubmission.root = str(root)
    c.TermDates.file = c.LatePolicy.file = str(folder.terms_file)
    c.AssignLatePenalties.plugin_class = LatePolicy
    c.BaseConverter.permissions = 644  # nbgrader's 444 keeps a second grader from running it again
    c.Autograde.sanitize_preprocessors = [
        RepairSubmission,
        stock.ClearOutput,
        stock.DeduplicateIds,
        stock.OverwriteKernelspec,
        stock.OverwriteCells,
        stock.CheckCellMetadata,
    ]
    c.Autograde.autograde_preprocessors = [
        ExecuteLesson,
        stock.IgnorePattern,
        ClearMetadataPreprocessor,
        stock.LimitOutput,
        stock.SaveAutoGrades,
        TermDates,
        stock.AssignLatePenalties,
        stock.CheckCellMetadata,
    ]
    c.GenerateFeedback.exporter_class = FeedbackPage  # nbgrader's own shows the hidden tests
    c.GenerateFeedback.preprocessors = [stock.GetGrades]
    c.ExchangeFactory.collect = CollectOwn  # nbgrader's own trusts what students put into the exchange
    c.ExchangeFactory.release_feedback = ReleaseReady  # nbgrader's own stops at the first that it cannot address


def load_config(folder: ClassFolder) -> Config:
    """The class's settings. GraderError with the line when the file does not run."""
    try:
        config: Config = PyFileConfigLoader(folder.config_file.name, path=str(folder.root)).load_config()
        return config
    except Exception as error:
        raise GraderError(
            f"{folder.config_file} does not run: {describe(error, folder.config_file)}. Mend that line, or "
            f"move the file away and let this write a fresh one: grader new-class {folder.root}"
        ) from error


def describe(error: Exception, file: Path) -> str:
    """The error in one line, with the line of `file` it came from where there is one."""
    line = error.lineno if isinstance(error, SyntaxError) else None
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == str(file):
            line = trace.tb_lineno
        trace = trace.tb_next
    where = f"line {line}: " if line else ""
    return f"{where}{type(error).__name__}: {error}"


def setting(config: Config, section: str, name: str, default: Any) -> Any:
    """One value from the class's settings, or `default` where the file says nothing."""
    return config[section].get(name, default) if section in config else default


def gradebook_url(folder: ClassFolder, config: Config) -> str:
    """Where the class's gradebook is: gradebook.db, unless the settings name another."""
    return str(setting(config, "CourseDirectory", "db_url", folder.gradebook_url))


def find_alembic() -> None:
    """Put this Python's own commands on PATH: nbgrader starts `alembic` when it makes a gradebook."""
    bin_folder = str(Path(sys.executable).parent)
    paths = os.environ.get("PATH", "").split(os.pathsep)
    if bin_folder not in paths:
        os.environ["PATH"] = os.pathsep.join([bin_folder, *paths])
