"""What is kept of a picture, and the picture drawn from it."""

from __future__ import annotations

import io
import json
from typing import Any

import numpy as np
import pytest
from PIL import Image

from grader.where import Grid, Line, Mark, Plot, Where
from grader.where.draw import PIXELS, picture

X = tuple(float(x) for x in np.linspace(-2, 2, 21))
CURVES = Where(
    "Wrong for x < 0.",
    (
        Plot("forward", "x", X, (Line("yours", "yours", X),)),
        Plot(
            "gradient",
            "x",
            X,
            (
                Line("slope", "right", tuple(float(x > 0) for x in X)),
                Line("yours", "yours", (None, *(1.0 for _ in X[1:]))),
            ),
            ((-2.1, 0.05),),
            (Mark(0.0, 2.0, 0.0, 1.0), Mark(1.0, None, 0.0, 0.0)),
        ),
    ),
)


def grid(rows: int, columns: int) -> Where:
    values = tuple(tuple(float(i - j) for j in range(columns)) for i in range(rows))
    names = tuple(f"y[{i}]" for i in range(rows)), tuple(f"x[{j}]" for j in range(columns))
    return Where("A Jacobian.", tuple(Grid(title, *names, values) for title in ("a", "b", "c")))


ALL = [CURVES, grid(2, 3), grid(4, 20), grid(24, 2), Where("NaN.", (Grid("a", ("y",), ("x",), ((None,),)),))]


@pytest.mark.parametrize("where", ALL)
def test_it_comes_back_from_json(where: Where) -> None:
    assert Where.from_dict(json.loads(json.dumps(where.to_dict()))) == where


@pytest.mark.parametrize("where", ALL)
def test_it_is_drawn_on_no_background(where: Where) -> None:
    drawn = picture(where)
    image = Image.open(io.BytesIO(drawn.data)).convert("RGBA")
    assert image.width == pytest.approx(2 * drawn.width, abs=2)
    assert drawn.words == where.words
    assert drawn.width <= 10.5 * PIXELS
    alpha = np.array(image)[..., 3]
    corners = alpha[[0, 0, -1, -1], [0, -1, 0, -1]]
    assert not corners.any()
    assert (alpha > 200).mean() > 0.001
    edge = np.concatenate([alpha[0], alpha[-1], alpha[:, 0], alpha[:, -1]])
    assert not (edge > 200).any(), "nothing is cut off"


def test_the_same_data_give_the_same_bytes() -> None:
    assert picture(CURVES).data == picture(CURVES).data
    svg = picture(CURVES, form="svg")
    assert svg.data == picture(CURVES, form="svg").data
    assert b"<svg" in svg.data
    assert b"script" not in svg.data


def test_no_figure_stays_open() -> None:
    import matplotlib.pyplot as plt

    before = plt.get_fignums()
    picture(CURVES)
    assert plt.get_fignums() == before


def spoiled(**changes: Any) -> dict[str, Any]:
    found = CURVES.to_dict()
    found["panels"][1].update(changes)
    return found


@pytest.mark.parametrize(
    "found",
    [
        None,
        {},
        {"words": 1, "panels": []},
        {"words": "", "panels": [{"kind": "plot"}]},
        {
            "words": "",
            "panels": [{"kind": "grid", "title": "", "rows": ["y"], "columns": ["x"], "values": ["1.0 2.0"]}],
        },
        spoiled(x="nan " * 21),
        spoiled(x="- " * 21),
        spoiled(x="one " * 21),
        spoiled(x=[1.0] * 21),
        spoiled(shaded=["1.0"]),
        spoiled(marks=["- 1.0 1.0 1.0"]),
        spoiled(marks=["1.0"]),
        spoiled(lines=[{"label": "a", "role": "yours", "y": "1.0"}]),
        spoiled(lines=[{"label": "a", "role": "reference", "y": "1.0 " * 21}]),
        spoiled(x="0.0 " * 5000),
        spoiled(title=["<b>"]),
    ],
)
def test_other_data_are_refused(found: Any) -> None:
    with pytest.raises(ValueError, match=r"."):
        Where.from_dict(found)
