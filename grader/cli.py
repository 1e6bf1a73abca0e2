"""The command `grader`: declarations only. Each command parses its arguments and calls one function elsewhere."""

from __future__ import annotations

import functools
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from grader.errors import GraderError
from grader.grading.for_good import loaded_for_good

__all__ = ["main"]


class _Group(click.Group):
    """A group that turns a GraderError into its message on stderr and exit code 2, never a traceback."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except GraderError as error:
            click.echo(f"grader: {error}", err=True)
            sys.exit(2)


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"]})
def main() -> None:
    """Custom Autograd Functions: check exercises, build lessons, grade a class."""


@main.command()
@click.argument("folder", required=False, type=click.Path(path_type=Path))
@click.option(
    "--port", type=click.IntRange(0, 65535), help="Port to serve on.  [default: the first free one from 8888]"
)
@click.option(
    "--ip", default="localhost", show_default=True, help="Address to serve on; 0.0.0.0 for every one."
)
@click.option("--no-browser", is_flag=True, help="Open no browser, only print the address.")
def learn(folder: Path | None, port: int | None, ip: str, no_browser: bool) -> None:
    """Open the course in JupyterLab.

    Your copies of the lessons are kept in FOLDER (my-course here, unless named); an update never overwrites them.
    """
    from grader.learning.serve import learn as serve

    serve(folder, port=port, ip=ip, browser=not no_browser)


@main.command()
@click.argument("folder", required=False, type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")
@click.option("--export", metavar="FILE", type=click.Path(path_type=Path), help="Write it to FILE, .csv or .json.")
@click.option("--reset", default="", metavar="NAME", help="Start an exercise, a lesson or all afresh; asks first.")
@click.option("--undo", default="", metavar="NAME", help="Take the last reset of it back.")
@click.option("--yes", "sure", is_flag=True, help="Do not ask.")
def progress(folder: Path | None, **options: Any) -> None:
    """Show your progress, as progress() does in a notebook. Nothing leaves this machine.

    FOLDER holds your lessons; unless named, it is the current one or my-course in it.
    """
    from grader.learning.terminal import report_progress

    report_progress(folder, **options)


@main.command()
@click.argument("exercise")
@click.option("--notebook", metavar="FILE", type=click.Path(path_type=Path), help="Your notebook.  [default: found]")
@click.option("--list", "listed", is_flag=True, help="Only list the texts that were kept.")
@click.option("--undo", is_flag=True, help="Put the text kept last back; again for the one before it.")
def restore(exercise: str, notebook: Path | None, listed: bool, undo: bool) -> None:
    """Put the stub of an exercise back into your notebook; your text is kept, and the rest is not touched."""
    from grader.learning.terminal import report_restore

    report_restore(exercise, notebook, listed=listed, undo=undo)


_lessons = click.argument("lessons", nargs=-1, metavar="[LESSON]...")
_solutions = click.option(
    "--solutions", type=click.Path(path_type=Path), help="Folder of lesson sources.  [default: the course's]"
)
_notebooks = click.option(
    "--notebooks",
    type=click.Path(path_type=Path),
    help="Folder of generated notebooks.  [default: notebooks, beside the sources]",
)


@main.command()
@_lessons
@click.option(
    "--check", is_flag=True, help="Write nothing; print how the notebooks differ; exit 1 if they do."
)
@click.option("--force", is_flag=True, help="Overwrite a notebook even if someone worked in it.")
@_solutions
@_notebooks
def build(
    lessons: tuple[str, ...], check: bool, force: bool, solutions: Path | None, notebooks: Path | None
) -> None:
    """Build the students' notebooks from the lesson sources: all, or each LESSON (02_relu, or just 02)."""
    from grader.lessons.report import report_build, report_comparison

    if check:
        sys.exit(report_comparison(lessons, solutions=solutions, notebooks=notebooks))
    report_build(lessons, solutions=solutions, notebooks=notebooks, force=force)


@main.command()
@_lessons
@click.option("--fix", is_flag=True, help="First rewrite the sources in the form JupyterLab saves.")
@click.option(
    "--exercises/--no-exercises", default=True, help="Compare with the exercises of the package, or not."
)
@click.option("--rules", is_flag=True, help="List the rules and stop.")
@_solutions
@_notebooks
def lint(
    lessons: tuple[str, ...],
    fix: bool,
    exercises: bool,
    rules: bool,
    solutions: Path | None,
    notebooks: Path | None,
) -> None:
    """Hold the lesson sources to the rules of the course; exit 1 if one is broken."""
    from grader.lessons.report import report_lint, report_rules

    if rules:
        return report_rules()
    sys.exit(report_lint(lessons, solutions=solutions, notebooks=notebooks, fix=fix, exercises=exercises))


def _all(options: list[Callable[[Any], Any]]) -> Callable[[Any], Any]:
    """Several options as one, in their order."""
    return lambda function: functools.reduce(lambda made, option: option(made), reversed(options), function)


_class = click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))


@main.command("new-class")
@_class
@click.option("--lesson", "chosen", multiple=True, help="Only this lesson; again for more.  [default: all]")
@click.option("--due", multiple=True, metavar="LESSON=TIME", help="When a lesson is due: 02_relu=2026-10-05T23:59.")
@click.option("--timezone", metavar="NAME", help="Of the due dates, like Europe/Berlin.  [default: this machine's]")
@click.option("--example", is_flag=True, help="Fill it with a sample class of submissions.")
@click.option(
    "--students", type=click.Path(path_type=Path), help="CSV of the class's students: id, names, email, LMS id."
)
@click.option(
    "--exchange",
    type=click.Path(path_type=Path, resolve_path=True),
    help="Folder of nbgrader's exchange, where students share this machine.",
)
def new_class(folder: Path, **options: Any) -> None:
    """Make a class in DIR: an ordinary nbgrader course with all lessons released, or the chosen ones.

    In a class that exists, refresh the release; submissions, grades, settings, dates and edited sources stay as they
    are. Due dates, extensions and what lateness costs stand in DIR/class.toml.
    """
    from grader.classroom.commands import create

    create(folder, **options)


@main.command("import-zip")
@_class
@click.argument("file", metavar="FILE.zip", type=click.Path(path_type=Path))
@click.option(
    "--from",
    "layout",
    type=click.Choice(["canvas", "moodle", "gradescope"]),
    help="Which LMS made it.  [default: known by the names in it]",
)
@click.option("--lesson", help="Take this lesson only, for instance 02_relu.")
@click.option("--worksheet", type=click.Path(path_type=Path), help="Moodle's grading worksheet: who is who, and when.")
@click.option("--before", metavar="TIME", help="The latest attempt up to then counts.  [default: the latest]")
@click.option("--timezone", help="Of times that have none, for instance Europe/Berlin.  [default: the class's]")
@click.option("--dry-run", is_flag=True, help="Show who maps to what and why not, but write nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON on stdout.")
def import_zip(folder: Path, file: Path, as_json: bool, **options: Any) -> None:
    """Take the submissions that Canvas, Moodle or Gradescope gave out as FILE.zip into DIR/submitted.

    What was there is kept, and the same zip again changes nothing. Exit 1 if something in it was not taken.
    """
    from grader.classroom.lms.show import show_taken_in
    from grader.classroom.lms.take_in import take_in

    sys.exit(show_taken_in(take_in(folder, file, **options), folder, as_json=as_json))


@main.command("export-grades")
@_class
@click.option("--for", "target", type=click.Choice(["canvas", "moodle", "csv"]), required=True, help="Who reads it.")
@click.option("--lesson", help="Only this lesson, for instance 02_relu.")
@click.option("--template", type=click.Path(path_type=Path), help="What the LMS exported, to be filled in.")
@click.option("--column", help="What the lesson is called in the template.  [default: as the lesson]")
@click.option("--scale", is_flag=True, help="Convert the scores where the LMS gives other points.")
@click.option("-o", "--output", type=click.Path(path_type=Path), required=True, help="File to write.")
def export_grades(folder: Path, output: Path, **options: Any) -> None:
    """Write the scores of the class, after penalties, to a file that Canvas or Moodle imports.

    Exit 1 if somebody has a score that the template has no row for.
    """
    from grader.classroom.lms.give_out import give_out
    from grader.classroom.lms.show import show_given_out

    sys.exit(show_given_out(give_out(folder, output, **options)))


@main.command()
@_class
@click.argument("student", required=False)
@click.argument("lesson", required=False)
@click.option("--until", metavar="TIME", help="Local time, like 2026-10-12T23:59.")
@click.option("--days", type=click.IntRange(min=1), help="Days more; without a LESSON for every one.")
@click.option("--remove", is_flag=True, help="Take the extension back.")
def extend(folder: Path, **options: Any) -> None:
    """Give STUDENT longer for LESSON, or list who has longer. It is written into DIR/class.toml."""
    from grader.classroom.term_commands import extend as give

    give(folder, options.pop("student"), options.pop("lesson"), **options)


_grading = [
    click.option("--lesson", help="Only this lesson, for instance 02_relu."),
    click.option("--jobs", type=click.IntRange(min=1), help="Submissions at a time.  [default: one for each core]"),
    click.option("--unsafe", is_flag=True, help="Where there is no sandbox, run submissions with your own rights."),
    click.option("--scheduler", metavar="ADDRESS", help="Grade on the workers of this Dask scheduler."),
    click.option("--dry-run", is_flag=True, help="Grade and show the scores, but enter nothing."),
    click.option("--yes", is_flag=True, help="Do not ask before other tests, dates or late rules change scores."),
    click.option("--json", "as_json", is_flag=True, help="Print the result as JSON on stdout."),
]


@main.command()
@_class
@_all(_grading)
def grade(folder: Path, **options: Any) -> None:
    """Grade what was handed in under DIR/submitted, and print the class as a table.

    Students' code runs in a sandbox (see grader doctor). A run that was stopped or killed goes on where it was.
    """
    _warmed(folder, **options)


@main.command()
@_class
@click.option("--student", help="Only this student's work.")
@_all(_grading)
def regrade(folder: Path, **options: Any) -> None:
    """Run all submissions again, unchanged ones too, and show whose points change before they are entered.

    Manual points, comments and extra credit stay. Says which submissions were graded with which version of the tests.
    """
    _warmed(folder, again=True, **options)


@main.command("restore-gradebook")
@_class
@click.argument("when", required=False, metavar="[TIME]")
def restore_gradebook(folder: Path, when: str | None) -> None:
    """Bring back the copy of the gradebook made at TIME; without one, list the copies.

    A copy is made before each run that changes the gradebook. The gradebook that is replaced is kept as one too.
    """
    from grader.classroom.term_commands import restore

    restore(folder, when)


def _warmed(folder: Path, **options: Any) -> None:
    from grader.grading.pool import pool

    if options["scheduler"] is None and (folder / "nbgrader_config.py").is_file():
        # What grades is loaded in the background while the rest of this program is.
        with pool(options["jobs"], unsafe=options["unsafe"]) as ready:
            _grade(folder, pool=ready, **options)
    else:
        _grade(folder, **options)


def _grade(folder: Path, **options: Any) -> None:
    # jsonschema, which nbformat brings, would compile a grammar of addresses for most of a second; no notebook has any.
    sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]
    with loaded_for_good():
        from grader.classroom.commands import grade as run

    run(folder, **options)


@main.command()
@_class
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON on stdout.")
def report(folder: Path, as_json: bool) -> None:
    """Write DIR/report.html anew and print the class as it stands in the gradebook."""
    from grader.classroom.commands import report as show

    show(folder, as_json=as_json)


@main.command()
@click.argument("exercise")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--name", help="Check this class or function of FILE.  [default: the exercise's symbol]")
@click.option(
    "--time-limit",
    type=click.FloatRange(min=0, min_open=True),
    default=60.0,
    show_default=True,
    help="Seconds before giving up.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the verdict as JSON.")
@click.option("--watch", is_flag=True, help="Check again each time FILE is saved, until Ctrl+C.")
def check(exercise: str, file: Path, name: str | None, time_limit: float, as_json: bool, watch: bool) -> None:
    """Run the full battery on one implementation: exit 0 passed, 1 not passed, 2 could not be checked."""
    from grader.loading import Wanted, check_file
    from grader.report_text import show

    wanted = Wanted(exercise, file, name, time_limit)
    if watch:
        from grader.watching import watch as check_on_save

        if as_json:
            raise click.UsageError("--watch is for people: leave out --json.")
        return check_on_save(wanted)
    report = check_file(wanted)
    click.echo(json.dumps(report.to_dict(), indent=2)) if as_json else show(report)
    sys.exit(0 if report.passed else 1)


@main.command()
@click.option("--json", "as_json", is_flag=True, help="Print the list as JSON.")
def exercises(as_json: bool) -> None:
    """List the exercises: ids, symbols, lessons, points, known misconceptions."""
    from grader.listing import as_table, entries

    click.echo(json.dumps(entries(), indent=2) if as_json else as_table())


@main.command()
@click.argument("exercises", nargs=-1, metavar="[EXERCISE]...")
@click.option("--json", "as_json", is_flag=True, help="Print the rows as JSON.")
@click.option("--write", is_flag=True, help="Write docs/matrix.md instead of printing.")
def matrix(exercises: tuple[str, ...], as_json: bool, write: bool) -> None:
    """Test the tests: every implementation of known verdict x every check; exit 1 if a verdict is wrong."""
    from grader.matrix.report import report_matrix

    text, good = report_matrix(exercises, as_json=as_json, write=write)
    click.echo(text)
    sys.exit(0 if good else 1)


@main.command()
@click.option("--json", "as_json", is_flag=True, help="Print the facts as JSON.")
@click.option("--attack", is_flag=True, help="Try the attack suite instead; exit 1 if an attack gains something.")
@click.option("--no-stock", is_flag=True, help="With --attack: leave out nbgrader alone, which takes minutes.")
def doctor(as_json: bool, attack: bool, no_stock: bool) -> None:
    """Say what isolation and what speed a grading run has on this machine; exit 1 if there is no sandbox."""
    if attack:
        from grader.attacks.report import report_attacks

        text, safe = report_attacks(with_stock=not no_stock, as_json=as_json, say=lambda s: click.echo(s, err=True))
    else:
        from grader.grading.doctor import report_doctor

        text, safe = report_doctor(as_json=as_json)
    click.echo(text)
    sys.exit(0 if safe else 1)
