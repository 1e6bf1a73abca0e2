"""The picture as SVG: what it shows is where the numbers say, and it can stand in any page."""

from __future__ import annotations

import math
import re
from xml.etree import ElementTree

import pytest

from grader.classroom.picture import harmless
from grader.where import Grid, Line, Mark, Plot, Where
from grader.where.svg import drawings
from tests.where.test_draw import ALL, CURVES, X, grid

SVG = "{http://www.w3.org/2000/svg}"
NUMBER = r"-?\d+(?:\.\d+)?"


def drawn(panel: Plot | Grid) -> ElementTree.Element:
    (svg,) = drawings(Where("Words.", (panel,)))
    return ElementTree.fromstring(svg)


def texts(svg: ElementTree.Element) -> list[str]:
    return [element.text or "" for element in svg.iter(f"{SVG}text")]


def points(polyline: ElementTree.Element) -> list[tuple[float, float]]:
    pairs = (pair.split(",") for pair in polyline.attrib["points"].split())
    return [(float(x), float(y)) for x, y in pairs]


@pytest.mark.parametrize("where", [*ALL, grid(24, 24)])
def test_it_can_stand_in_any_page(where: Where) -> None:
    panels = drawings(where)
    assert len(panels) == len(where.panels)
    for svg in panels:
        assert harmless(svg)
        assert not {"id", "style"} & {name for element in ElementTree.fromstring(svg).iter() for name in element.attrib}
        assert "nan" not in svg
        _, _, width, height = map(float, ElementTree.fromstring(svg).attrib["viewBox"].split())
        places = [float(v) for v in re.findall(rf'\b[xy][12]?="({NUMBER})"', svg)]
        assert min(places) >= 0
        assert max(places) <= max(width, height)


def test_a_curve_goes_through_its_numbers_with_none_left_out_where_it_bends() -> None:
    y = tuple(math.sin(3 * x) for x in X)
    svg = drawn(Plot("t", "x", X, (Line("mine", "yours", y),)))
    (curve,) = (points(line) for line in svg.iter(f"{SVG}polyline"))
    xs, ys = [p[0] for p in curve], [p[1] for p in curve]
    at = {round(X[0] + (x - xs[0]) / (xs[-1] - xs[0]) * (X[-1] - X[0]), 2): v for x, v in zip(xs, ys, strict=True)}
    low, high = max(ys), min(ys)
    for x, v in at.items():
        assert min(y) + (v - low) / (high - low) * (max(y) - min(y)) == pytest.approx(math.sin(3 * x), abs=0.03)
    assert len(at) > 15


def test_what_is_no_number_interrupts_the_curve() -> None:
    y = (*(0.0 for _ in X[:5]), None, *(1.0 for _ in X[6:]))
    svg = drawn(Plot("t", "x", X, (Line("mine", "yours", y),)))
    assert [len(points(line)) for line in svg.iter(f"{SVG}polyline")] == [2, 2]


def test_the_legend_says_what_is_there() -> None:
    shown = texts(ElementTree.fromstring(drawings(CURVES)[1]))
    assert {"gradient", "slope", "yours", "where they differ", "a single point that differs", "no number"} <= {*shown}
    assert "where they differ" not in texts(ElementTree.fromstring(drawings(CURVES)[0]))


def test_numbers_in_squares() -> None:
    values = ((1.0, -0.5, 0.0), (None, 1e-4, -12345.0))
    assert texts(drawn(Grid("t", ("a", "b"), ("c", "d", "e"), values))) == [
        *("t", "a", "1", "−0.5", "0", "b", "NaN", "≈0", "−1e4", "c", "d", "e")
    ]
    small = texts(drawn(Grid("t", ("a",), ("c", "d"), ((2e-4, -0.0),))))
    assert small[2:4] == ["2e-4", "0"]


def test_a_mark_where_a_point_differs() -> None:
    svg = drawn(Plot("t", "x", (0.0, 1.0), (Line("l", "right", (0.0, 1.0)),), marks=(Mark(0.5, 2.0, 0.0, 1.0),)))
    assert len(list(svg.iter(f"{SVG}circle"))) == 2
    assert len(list(svg.iter(f"{SVG}path"))) == 2, "the point, and the legend's"


def test_names_are_escaped() -> None:
    (svg,) = drawings(Where("w", (Grid("<b>", ("&",), ('"',), ((1.0,),)),)))
    assert texts(ElementTree.fromstring(svg))[0] == "<b>"
