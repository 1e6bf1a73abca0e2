"""A class as a folder: making it, grading it, reporting on it.

create.py      grader new-class: an ordinary nbgrader course from the lessons
folder.py      where things lie in a class folder, and what is no class folder
settings.py    nbgrader_config.py: what it says and how we read it
students.py    the list of a class: reading it, entering it into the gradebook
sheet.py       tables in every dialect of CSV, and such as a spreadsheet opens safely
lms/           submissions in from Canvas, Moodle and Gradescope, grades out to them
master.py      a lesson as grading needs it: the released cells with the hidden tests back in
handed_in.py   which file a student handed in for a lesson, and whether it can be read
timestamp.py   timestamp.txt, where it cannot be read
alike.py       when a cell is another one again
repair.py      mends a copy of a submission: doubled, deleted, moved and changed cells
execute.py     runs a repaired notebook and survives what is in it
settle.py      turns the outputs of a test cell into a score that nbgrader cannot misread
exchange.py    nbgrader's exchange on a machine that students share: its folders, collecting, releasing feedback
preprocessors.py  what nbgrader itself plugs in before grading: repair
gradebook.py   the one writer of gradebook, autograded/ and feedback/
feedback.py    a student's feedback/ folder; the page in it: feedback_page.py, feedback_parts.py, picture.py,
               highlight.py
run.py         grader grade: all of it, in parallel, whatever the files are like
outcome.py     what became of one submission; kept so that an unchanged one is not run again
summary.py     the class as numbers: rows, totals, most common mistakes
table.py       the same in the terminal
class_report.py  what there is to tell of a class: insight.py, attention.py, snapshot.py, likeness.py, teach.py
report_page.py, tables.py   the same as report.html and as CSV files in report/
templates.py   the templates in pages/; words.py: numbers as people write them
example.py     a sample class made from the exercises' own misconceptions
"""

from __future__ import annotations

__all__: list[str] = []
