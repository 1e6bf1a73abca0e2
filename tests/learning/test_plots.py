"""Figures read on white and on JupyterLab's dark page; contrast is computed here from the WCAG definition."""

from __future__ import annotations

import importlib
import io
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib
import matplotlib.pyplot as plt
import nbformat
import numpy as np
import pytest
import torch
from matplotlib.axes import Axes
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure
from nbclient import NotebookClient
from nbconvert import HTMLExporter

from grader.learning.output import bundle, in_words
from grader.learning.plots import COLORS, TEXT, chain, figure, heat

ROOT = Path(__file__).parents[2]
PAGES = ("#ffffff", "#111111")


def luminance(color: Any) -> float:
    parts = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(color)]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


def contrast(a: Any, b: Any) -> float:
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
    assert alpha.max() > 200


def test_jupyter_lays_no_card_below() -> None:
    inline: Any = importlib.import_module("matplotlib_inline.backend_inline")
    fig, _ = figure()
    assert inline._fetch_figure_metadata(fig) is None


def test_everything_drawn_later_keeps_the_look() -> None:
    fig, ax = figure()
    ax.plot([0, 1], label="curve")
    texts = [ax.set_title("t"), ax.set_xlabel("x"), ax.text(0, 0, "here"), fig.suptitle("all")]
    texts += [ax.annotate("kink", (0, 0), (1, 1), arrowprops={"arrowstyle": "->"}), *ax.legend().get_texts()]
    fig.canvas.draw()
    assert {to_hex(text.get_color()) for text in [*texts, *ax.get_xticklabels()]} == {TEXT}
    assert ax.text(0, 0, "mine", color="red").get_color() == "red"


def test_global_settings_stay() -> None:
    before = dict(matplotlib.rcParams)
    figure(columns=2)
    assert dict(matplotlib.rcParams) == before


def test_first_figure_leaves_a_notebook_interactive() -> None:
    """Else Jupyter shows no later figure."""
    cell = "from grader.learning.plots import figure, plt; figure(); print(plt.isinteractive())"
    shell = "from IPython.core.interactiveshell import InteractiveShell as Shell; Shell.instance()"
    code = f"{shell}.run_cell({cell!r})"
    env = {**os.environ, "MPLBACKEND": "module://matplotlib_inline.backend_inline", "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[0] == "True"


def test_axes_as_subplots_gives_them() -> None:
    assert isinstance(figure()[1], Axes)
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


@pytest.mark.parametrize("matrix", [np.zeros((2, 3)), np.zeros((0, 3)), np.full((2, 2), np.nan), np.ones((20, 20))])
def test_heat_of_odd_matrices_draws(matrix: np.ndarray) -> None:
    fig, ax = figure()
    heat(ax, matrix)
    fig.canvas.draw()


def test_heat_wants_a_matrix() -> None:
    _, ax = figure()
    with pytest.raises(ValueError, match=r"shape \(3,\)"):
        heat(ax, [1, 2, 3])


def test_chain_labels_every_arrow_in_order() -> None:
    fig, ax = figure(width=8, height=2)
    chain(ax, nodes=["f"], forward=["x", "y"], backward=["dx", "dy"])
    fig.canvas.draw()
    at = {text.get_text(): text.get_position() for text in ax.texts if text.get_text()}
    assert at["x"][0] < at["f"][0] < at["y"][0]
    assert at["dx"][0] == at["x"][0]
    assert at["dx"][1] < 0 < at["x"][1]


def test_chain_counts_its_arrows() -> None:
    with pytest.raises(ValueError, match="2 nodes have 3 arrows"):
        chain(figure()[1], nodes=["f", "g"], forward=["x", "y"], backward=["dx", "dy"])


# --- with words, for whoever cannot see it ---


def executed(*sources: str, **environ: str) -> list[Any]:
    """The outputs of each cell, as a real kernel gives them."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in sources])
    env = {**os.environ, "PYTHONPATH": str(ROOT), "MPLBACKEND": "module://matplotlib_inline.backend_inline", **environ}
    NotebookClient(notebook, kernel_name="python3", timeout=120).execute(env=env)
    return [cell.outputs for cell in notebook.cells]


def test_words_are_put_together_where_a_lesson_gives_none() -> None:
    fig, (left, right) = figure(columns=2)
    left.set(title="Accuracy", xlabel="step", ylabel="share")
    left.plot([0, 1], label="tanh")
    left.plot([1, 0], label="sign")
    right.set(xlabel="x")
    fig.suptitle("Two nets")
    assert in_words(fig) == "Two nets. Accuracy: share against step, showing tanh, sign. over x."
    assert in_words(figure()[0]) == "A picture without a title."


@pytest.mark.parametrize("how", ["fig.show()", "fig", "pass", "display(fig)", "fig.show(); print('after')"])
def test_a_notebook_shows_a_figure_once_and_with_its_words(how: str) -> None:
    """Whether it is shown, the last line of a cell, or left to Jupyter; on a desktop and under nbgrader as well."""
    make = "from grader.learning.plots import figure\n"
    make += "fig, ax = figure(alt='a line < that \"rises\"'); _ = ax.plot([0, 1])\n"
    environ = {"DISPLAY": ":0", "NBGRADER_EXECUTION": "autograde"}
    first, *more = executed(make + how, **environ)[0]
    assert [out.get("text") for out in more] == (["after\n"] if "after" in how else [])
    assert set(first.data) == {"image/png", "text/html", "text/plain"}
    assert first.data["text/plain"] == 'a line < that "rises"'
    assert 'alt="a line &lt; that &quot;rises&quot;"' in first.data["text/html"]
    assert first.metadata["image/png"]["alt"] == first.data["text/plain"]


def test_a_static_page_shows_it_once_with_its_words() -> None:
    fig, ax = figure(alt="a line that rises")
    ax.plot([0, 1])
    data, metadata = bundle(fig, "a line that rises")
    shown = nbformat.v4.new_output("display_data", data=data, metadata=metadata)
    cell = nbformat.v4.new_code_cell("fig.show()", outputs=[shown], execution_count=1)
    page, _ = HTMLExporter().from_notebook_node(nbformat.v4.new_notebook(cells=[cell]))
    assert page.count("<img ") == 1
    assert '<img alt="a line that rises"' in page
