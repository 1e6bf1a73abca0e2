"""The command `grader`: declarations only. Each command parses its arguments and calls one function elsewhere."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from grader.errors import GraderError

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
@click.option("--port", type=click.IntRange(0, 65535), help="Port to serve on.  [default: the first free one from 8888]")
@click.option("--ip", default="localhost", show_default=True, help="Address to serve on; 0.0.0.0 for every one.")
@click.option("--no-browser", is_flag=True, help="Open no browser, only print the address.")
def learn(folder: Path | None, port: int | None, ip: str, no_browser: bool) -> None:
    """Open the course in JupyterLab.

    Your copies of the lessons are kept in FOLDER (my-course here, unless named); an update never overwrites them.
    """
    from grader.learning.serve import learn as serve

    serve(folder, port=port, ip=ip, browser=not no_browser)
