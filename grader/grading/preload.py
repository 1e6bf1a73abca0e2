"""Imported by the process that a pool's workers are forked from: all that judging needs, loaded once."""

import grader.grading.judge
import grader.grading.worker
from grader.warm import import_all

__all__ = ["grader"]

import_all()
