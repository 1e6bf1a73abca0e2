"""Figures read on white and on JupyterLab's dark page; contrast is computed here from the WCAG definition."""

from __future__ import annotations

import io
from collections.abc import Iterator

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from grader.learning.plots import COLORS, TEXT, figure, heat

PAGES = ("#ffffff", "#111111")


def luminance(color: object) -> float:
    parts = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(color)]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


def contrast(a: object, b: object) -> float:
    light, dark = sorted((luminance(a), luminance(b)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def pixels(fig: Figure) -> np.ndarray:
    buffer = io.BytesIO()
    fig.savefig(buffer, format="rgba", dpi=60)
    return np.frombuffer(buffer.getvalue(), dtype=np.uint8).reshape(-1, 4)


@pytest.fixture(autouse=True)
def no_window() -> Iterator[None]:
    matplotlib.use("agg")
    yield
    plt.close("all")


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("color", [TEXT, *COLORS])
def test_colours_read_on_both_pages(color: str, page: str) -> None:
    assert contrast(color, page) >= (4.3 if color == TEXT else 3.0)


def test_background_is_transparent() -> None:
    fig, ax = figure()
    ax.plot([0, 1], [0, 1])
    alpha = pixels(fig)[:, 3]
    assert (alpha == 0).mean() > 0.8
    assert alpha.max() == 255


def test_jupyter_lays_no_card_below() -> None:
    from matplotlib_inline.backend_inline import _fetch_figure_metadata

    fig, _ = figure()
    assert _fetch_figure_metadata(fig) is None


def test_everything_drawn_later_keeps_the_look() -> None:
    fig, ax = figure()
    ax.plot([0, 1], label="curve")
    texts = [ax.set_title("t"), ax.set_xlabel("x"), ax.text(0, 0, "here"), fig.suptitle("all")]
    texts += [ax.annotate("kink", (0, 0), (1, 1), arrowprops={"arrowstyle": "->"}), *ax.legend().get_texts()]
    fig.canvas.draw()
    assert {text.get_color() for text in [*texts, *ax.get_xticklabels()]} == {TEXT}
    assert ax.text(0, 0, "mine", color="red").get_color() == "red"


def test_global_settings_stay() -> None:
    before = dict(matplotlib.rcParams)
    figure(columns=2)
    assert dict(matplotlib.rcParams) == before


def test_axes_as_subplots_gives_them() -> None:
    assert figure()[1].lines == [] or len(figure()[1].lines) == 0
    assert figure(columns=3)[1].shape == (3,)
    fig, axes = figure(columns=2, rows=2, width=5, height=4)
    assert axes.shape == (2, 2)
    assert tuple(fig.get_size_inches()) == (5, 4)


def test_heat_writes_the_values() -> None:
    _, ax = figure()
    heat(ax, torch.tensor([[1.0, -2.0, 0.0]], requires_grad=True), "J")
    assert [text.get_text() for text in ax.texts] == ["1.00", "-2.00", "0"]
    assert ax.get_title() == "J"


def test_heat_values_read_on_every_shade() -> None:
    _, ax = figure()
    heat(ax, [[0.0]], limit=1)
    (image,) = ax.images
    assert min(contrast(image.to_rgba(v)[:3], "white") for v in np.linspace(-1, 1, 41)) >= 4.5


@pytest.mark.parametrize(
    "matrix", [np.zeros((2, 3)), np.zeros((0, 3)), np.full((2, 2), np.nan), np.ones((20, 20))]
)
def test_heat_of_odd_matrices_draws(matrix: np.ndarray) -> None:
    fig, ax = figure()
    heat(ax, matrix)
    fig.canvas.draw()


def test_heat_wants_a_matrix() -> None:
    _, ax = figure()
    with pytest.raises(ValueError, match=r"shape \(3,\)"):
        heat(ax, [1, 2, 3])
