"""Imported by the process that a pool's workers are forked from: all that judging needs, loaded once."""

from grader.grading.for_good import loaded_for_good

with loaded_for_good():
    import grader.grading.judge
    import grader.grading.worker
    from grader.warm import import_all

    import_all()

__all__ = ["grader"]
