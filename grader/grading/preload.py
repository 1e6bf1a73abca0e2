"""Imported by the process that a pool's workers are forked from: all that judging needs, loaded once."""

import gc

gc.disable()  # as in the warm process

import grader.grading.judge  # noqa: E402
import grader.grading.worker  # noqa: E402
from grader.warm import import_all  # noqa: E402

__all__ = ["grader"]

import_all()
gc.freeze()
gc.enable()
