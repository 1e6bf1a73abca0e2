"""Lessons as files: find them, read them, build the student notebooks from them, compare, lint.

`solutions/NN_slug.py` (Jupytext py:percent) is the only source of a lesson; `notebooks/NN_slug.ipynb` is
generated. Nothing here opens a database, starts a kernel or imports torch.
"""

from __future__ import annotations

from grader.lessons.build import (
    NBGRADER_STUBS,
    build_release,
    instructor_notebook,
    notebook_text,
    read_lesson,
)
from grader.lessons.folders import Folders, course_root, lesson_names, lesson_path

__all__ = [
    "NBGRADER_STUBS",
    "Folders",
    "build_release",
    "course_root",
    "instructor_notebook",
    "lesson_names",
    "lesson_path",
    "notebook_text",
    "read_lesson",
]
