"""Work in from a learning management system (Canvas, Moodle, Gradescope), grades out to it.

archive.py     a zip file from outside: refused as a whole or safe to read
piece.py       one file of one person, as every LMS's reader tells it
canvas.py, moodle.py, gradescope.py   how each names what is in its zip
people.py      who of the class is meant
contents.py    what the files of a submission are: zips opened, notebooks known by their cells
plan.py        which file counts for which lesson, and why not
names.py       names that any system can hold
place.py       into submitted/, with nothing lost
take_in.py     grader import-zip: all of it
marks.py       the scores of the class, by lesson and student
fill.py        scores into a table that an LMS exported
canvas_grades.py, moodle_grades.py, plain_grades.py   the tables that go out
give_out.py    grader export-grades: all of it
show.py        what the two commands print
"""

from __future__ import annotations

__all__: list[str] = []
