"""`python -m grader` is the same as the command `grader`."""

from grader.cli import main

main(prog_name="grader")
