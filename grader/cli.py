"""The command `grader`: declarations only. Each command parses its arguments and calls one function elsewhere."""

from __future__ import annotations

import sys
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
