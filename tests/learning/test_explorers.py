"""The explorers: their numbers against formulas, their pictures as outputs, and what happens when a control moves."""

from __future__ import annotations

import base64
import json
import math
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib
import matplotlib.pyplot as plt
import nbformat
import pytest
import torch
from nbclient import NotebookClient
from torch.autograd import Function

from grader.errors import GraderError
from grader.learning import explorers
from grader.learning.explorers import differences, gradcheck, graph, kink, ste, vjp
from grader.learning.explorers.explorer import Picture, frames, panels
from grader.learning.output import bundle

ROOT = Path(__file__).parents[2]
X = torch.tensor([0.5, -1.0, 0.8, -0.3], dtype=torch.float64)
ELEMENTS = {"x0": 1.0, "x1": -2.0, "x2": 3.0, "x3": 0.5, "g0": 1.0, "g1": 0.5, "g2": -2.0, "g3": 1.5}
EVERY: dict[str, tuple[Any, dict[str, Any]]] = {
    **{f"vjp {name}": (vjp.draw, {"function": name, **ELEMENTS}) for name in vjp.FUNCTIONS},
    **{f"kink {name}": (kink.draw, {"function": name, "x": 0.0}) for name in kink.FUNCTIONS},
    **{f"differences {name}": (differences.draw, {"function": name, "eps": 1e-6}) for name in differences.FUNCTIONS},
    **{f"graph {name}": (graph.draw_with({}), {"of": name}) for name in graph.EXPRESSIONS},
    "gradcheck 2": (gradcheck.draw_with(gradcheck.FUNCTIONS, X), {"function": "exp, right", "step": 2}),
    "ste": (ste.draw, {"window": 1.0}),
}


@pytest.fixture(autouse=True)
def no_window() -> Iterator[None]:
    matplotlib.use("agg")
    yield
    assert plt.get_fignums() == []


def last(draw: Any, **values: Any) -> Picture:
    *_, picture = frames(draw, values)
    return picture


# --- the numbers ---


def test_vjp_of_neighbours_is_what_lesson_01_says() -> None:
    x = torch.tensor([1.0, -2.0, 3.0, 0.5], dtype=torch.float64)
    g = torch.tensor([1.0, 0.5, -2.0], dtype=torch.float64)
    J, product = vjp.products("neighbours: x[:-1] * x[1:]", x, g)
    assert J.tolist() == [[-2, 1, 0, 0], [0, 3, -2, 0], [0, 0, 0.5, 3]]
    assert product.tolist() == [-2, 2.5, -2, -6]


@pytest.mark.parametrize("function", vjp.FUNCTIONS)
def test_autograd_gives_g_times_the_jacobian(function: str) -> None:
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(4, dtype=torch.float64, generator=generator)
    g = torch.randn(vjp.FUNCTIONS[function](x).shape, dtype=torch.float64, generator=generator)
    J, product = vjp.products(function, x, g)
    torch.testing.assert_close(product, g @ J)
    measured = gradcheck.numeric(vjp.FUNCTIONS[function], x)
    torch.testing.assert_close(J, measured, rtol=1e-6, atol=1e-8)


def test_slopes_at_the_kink_are_those_of_this_torch() -> None:
    zero = torch.zeros((), dtype=torch.float64)
    at_zero = {name: kink.slope(name, zero).item() for name in kink.FUNCTIONS}
    assert at_zero == {
        "torch.relu(x)": 0.0,
        "x.clamp(min=0)": 1.0,
        "torch.maximum(x, 0)": 0.5,
        "where(x > 0, x, 0)": 0.0,
        "where(x >= 0, x, 0)": 1.0,
        "leaky_relu(x, 0.2)": 0.2,
        "elu(x)": 1.0,
        "x.abs()": 0.0,
    }


@pytest.mark.parametrize(
    ("precision", "power", "tip"), [("float64", -53, 1e-9), ("float32", -24, 1e-3)], ids=["float64", "float32"]
)
@pytest.mark.parametrize("function", differences.FUNCTIONS)
def test_the_v_has_its_tip_where_theory_puts_it(function: str, precision: str, power: int, tip: float) -> None:
    """Truncation falls with eps², rounding grows as u/eps: the best step is the cube root of u, give or take."""
    steps = [10 ** (-k / 4) for k in range(2, 60)]
    errors = {eps: differences.error(function, precision, eps) for eps in steps}
    # Single points are lucky; the middle of three neighbours is not.
    smooth = {steps[k]: sorted(errors[s] for s in steps[k - 1 : k + 2])[1] for k in range(1, len(steps) - 1)}
    best = min(smooth, key=lambda eps: smooth[eps])
    assert abs(math.log10(best / 2 ** (power / 3))) < 1.5
    assert smooth[best] < tip
    assert errors[steps[0]] > 100 * smooth[best]
    assert errors[steps[-1]] > 100 * smooth[best]


def test_one_sided_is_worse_by_the_first_order_term() -> None:
    name = "sin(x) at x = 1"
    error = differences.error(name, "float64", 1e-3, central=False)
    assert error == pytest.approx(1e-3 / 2 * math.sin(1.0), rel=0.01)


def test_the_net_learns_with_a_window_and_not_without() -> None:
    state = torch.random.get_rng_state()
    *_, with_window = ste.train(1.0)
    *_, without = ste.train(ste.NO_STE)
    *_, too_wide = ste.train(math.inf)
    assert with_window[-1] > 0.95
    assert max(without[-1], too_wide[-1]) < 0.7
    assert torch.equal(torch.random.get_rng_state(), state)


def test_gradcheck_explorer_agrees_with_torch() -> None:
    for name, apply in gradcheck.FUNCTIONS.items():
        leaf = X.clone().requires_grad_()
        passes = torch.autograd.gradcheck(apply, (leaf,), raise_exception=False)
        picture = last(gradcheck.draw_with(gradcheck.FUNCTIONS, X), function=name, step=5)
        assert f"gradcheck says {'yes' if passes else 'no'}" in picture.alt, name
    assert "gradcheck says yes" in last(gradcheck.draw_with(gradcheck.FUNCTIONS, X), function="exp, right", step=5).alt


def test_columns_of_the_numeric_jacobian_appear_one_by_one() -> None:
    for step in range(6):
        figure = last(gradcheck.draw_with(gradcheck.FUNCTIONS, X), function="exp, right", step=step).figure
        numeric, analytic, difference = figure.axes
        written = {text.get_position()[0] for text in numeric.texts if text.get_text()}
        assert written == set(range(min(step, 4)))
        assert all(text.get_text() for text in analytic.texts)
        assert any(text.get_text() for text in difference.texts) == (step == 5)


class Twice(Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        return 2 * x

    @staticmethod
    def backward(ctx: Any, g: torch.Tensor) -> torch.Tensor:
        return 2 * g


def test_the_graph_names_the_learners_nodes() -> None:
    x, w = (torch.ones(2, requires_grad=True) for _ in range(2))
    y = Twice.apply(x) * w + x  # type: ignore[no-untyped-call]
    walked = graph.walk(y, {"x": x, "w": w})
    assert {(node.label, node.kind) for node in walked.nodes} == {
        ("Add", "built-in"),
        ("Mul", "built-in"),
        ("Twice", "own"),
        ("x", "leaf"),
        ("w", "leaf"),
    }
    named = {(walked.nodes[a].label, walked.nodes[b].label) for a, b in walked.edges}
    assert named == {("Add", "Mul"), ("Add", "x"), ("Mul", "Twice"), ("Mul", "w"), ("Twice", "x")}
    depth = {node.label: node.depth for node in walked.nodes}
    assert depth == {"Add": 0, "Mul": 1, "Twice": 2, "w": 2, "x": 3}


def test_the_graph_of_a_constant_and_of_a_very_long_chain() -> None:
    constant = torch.ones(1)
    assert graph.walk(constant, {"c": constant}).nodes[0].kind == "constant"
    y = x = torch.ones(1, requires_grad=True)
    for _ in range(3000):
        y = y + 1
    walked = graph.walk(y, {"x": x})
    assert walked.left_out == 3001 - len(walked.nodes)
    last(graph.draw_with({"y": y, "x": x}), of="y")


def test_what_an_explorer_cannot_use_is_said_in_words() -> None:
    with pytest.raises(GraderError, match="loss is of type float"):
        explorers.explore_graph(loss=1.0)  # type: ignore[arg-type]
    with pytest.raises(GraderError, match="float32 with 20"):
        explorers.explore_gradcheck(torch.sin, torch.ones(20))


# --- the pictures ---


@pytest.mark.parametrize("name", EVERY)
def test_every_picture_is_a_png_with_alt_text(name: str) -> None:
    draw, values = EVERY[name]
    picture = last(draw, **values)
    data, metadata = bundle(picture.figure, picture.alt, note="a note")
    assert base64.b64decode(data["image/png"]).startswith(b"\x89PNG")
    alt = data["text/plain"]
    assert len(alt.split()) > 10
    assert metadata["image/png"]["alt"] == alt
    assert "<img alt=" in data["text/html"]
    assert "a note" in data["text/html"]


def test_alt_text_is_escaped() -> None:
    figure, _ = panels(1, height=2)
    plt.close(figure)
    data, _ = bundle(figure, 'a < b & "c"', note="<i>")
    assert 'alt="a &lt; b &amp; &quot;c&quot;"' in data["text/html"]
    assert "&lt;i&gt;" in data["text/html"]


def test_no_figure_is_left_even_when_drawing_fails() -> None:
    def fails() -> Picture:
        panels(1, height=2)
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        last(fails)


def test_panels_stay_where_they_are() -> None:
    places = []
    for eps in (1e-1, 1e-6, 1e-15):
        figure = last(differences.draw, function="sin(x) at x = 1", eps=eps).figure
        figure.canvas.draw()
        places.append([axes.get_position().bounds for axes in figure.axes])
    assert places[0] == places[1] == places[2]


# --- where nothing is to be moved ---


def run(code: str, **environ: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "MPLBACKEND": "agg", "PYTHONPATH": str(ROOT), **environ}
    return subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)


def test_a_script_gets_the_words_and_no_ipywidgets() -> None:
    done = run("import sys; from grader.learning.explorers import explore_kink; explore_kink(); print(*sys.modules)")
    assert done.stdout.startswith("Left: y = torch.relu(x)")
    assert "ipywidgets" not in done.stdout
    assert done.stderr == ""


def test_importing_an_explorer_imports_nothing_else() -> None:
    done = run("import sys; import grader.learning.explorers; print(*sys.modules)")
    assert not {"torch", "matplotlib", "ipywidgets", "numpy"} & set(done.stdout.split())


def test_in_a_grading_run_nothing_is_drawn() -> None:
    code = (
        "from grader.grading.stand_ins import hide_package; import sys; hide_package()\n"
        "from grader.learning.explorers import explore_vjp, explore_gradcheck\n"
        "from grader.learning.track import track\n"
        "explore_vjp(); explore_gradcheck(None, x=1)\n"
        "print(list(track(range(3), 'x')), 'ipywidgets' in sys.modules)"
    )
    done = run(code)
    assert (done.stdout, done.stderr) == ("[0, 1, 2] False\n", "")


def executed(*sources: str, **environ: str) -> list[Any]:
    """The outputs of each cell, as a real kernel gives them."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in sources])
    env = {**os.environ, "PYTHONPATH": str(ROOT), **environ}
    env.pop("GRADER_CLASS_SECRET", None)
    NotebookClient(notebook, kernel_name="python3", timeout=120, allow_errors=True).execute(env=env)
    return [cell.outputs for cell in notebook.cells]


WIDGET = "application/vnd.jupyter.widget-view+json"
IMPORT = "from grader.learning.explorers import explore_kink, explore_ste"


@pytest.mark.slow
def test_a_kernel_gets_controls_and_a_picture_of_its_own() -> None:
    """nbclient drops updates that belong to an earlier cell, so the third cell looks at what is sent."""
    remember = (
        f"{IMPORT}, live\n"
        "made = []\n"
        "class Remembered(live.Live):\n"
        "    def show(self): made.append(self); super().show()\n"
        "live.Live = Remembered"
    )
    moves = (
        "import asyncio\n"
        "from matplotlib import pyplot\n"
        "one = made[0]\n"
        "seen = []\n"
        "live.update_display = lambda data, **more: seen.append((data['text/plain'], more['display_id'] == one.id))\n"
        "for k in range(11): one.controls['x'].value = round(-0.5 + k / 10, 1)\n"
        "await asyncio.sleep(1)\n"
        "print(len(seen), seen[-1], pyplot.get_fignums())"
    )
    fails = (
        "def broken(**_): raise ValueError('a <bad> value')\n"
        "one.draw = broken; one.controls['x'].value = 0.1\n"
        "await asyncio.sleep(0.5)\n"
        "print(len(seen), one.said.value)"
    )
    _, shown, moved, failed = executed(remember, "explore_kink()", moves, fails)
    controls, picture = shown
    assert WIDGET in controls.data
    assert "JupyterLab" in controls.data["text/plain"]
    assert set(picture.data) == {"image/png", "text/html", "text/plain"}
    text = moved[0].text
    assert text.startswith("1 (")  # eleven movements at once, one drawing: that of the newest value
    assert "through its point at x = 0.5" in text
    assert text.endswith(", True) []\n")
    assert failed[0].text.startswith("1 ")
    assert "ValueError: a &lt;bad&gt; value" in failed[0].text


@pytest.mark.slow
def test_an_nbgrader_run_gets_the_picture_alone() -> None:
    _, shown = executed(IMPORT, "explore_ste()", NBGRADER_EXECUTION="autograde")
    (picture,) = shown
    assert "image/png" in picture.data
    assert WIDGET not in picture.data


def test_the_widgets_frontend_comes_with_a_learners_lab(tmp_path: Path) -> None:
    """JupyterLab finds the extension that draws the controls, though Jupyter's own folders are set elsewhere."""
    code = (
        "import json, pathlib\n"
        "from grader.learning.serve import _isolate\n"
        f"_isolate(pathlib.Path({str(tmp_path)!r}))\n"
        "from jupyter_core.paths import jupyter_path\n"
        "found = [p for d in jupyter_path('labextensions') for p in pathlib.Path(d).glob('@jupyter-widgets/*')]\n"
        "print(json.dumps([p.name for p in found]))"
    )
    assert "jupyterlab-manager" in json.loads(run(code).stdout)
