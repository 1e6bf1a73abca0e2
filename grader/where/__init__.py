"""Where an answer goes wrong, as numbers that can be kept and a picture that can be drawn from them later.

    from grader.where import Where                    # what was found; imports neither torch nor matplotlib
    from grader.where.find import find_where          # asks a Subject, in this process or another
    from grader.where.draw import picture             # draws, with matplotlib

    where = find_where(exercise, subject, report)     # a Where, or None where no picture helps; never raises
    kept = json.dumps(where.to_dict())                # a few kilobytes: labels, and numbers of 5 digits
    where = Where.from_dict(json.loads(kept))         # ValueError where it is not what to_dict gives
    where.words                                       # what the picture shows, in words: its alt text
    picture(where, form="png").data                   # the bytes; or form="svg". Also .width and .height, in CSS pixels
    from grader.where.svg import drawings             # draws without matplotlib, in a millisecond
    drawings(where)                                   # an <svg> element for each panel

The inputs are fixed and public, whatever seed the verdict came from: a picture tells nothing of a class's secret. It
holds numbers only (of the learner's own code, of finite differences, of a declared surrogate), never code.

    model.py     Where and what it is made of      find.py     which kind of picture applies
    curves.py    functions of one element          matrices.py Jacobians, and values of plain functions
    words.py     the sentences                     draw.py     the picture in a notebook
    svg.py       the picture in a feedback page
"""

from __future__ import annotations

from grader.where.model import Grid, Line, Mark, Plot, Where

__all__ = ["Grid", "Line", "Mark", "Plot", "Where"]
