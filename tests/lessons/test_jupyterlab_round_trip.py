"""Opening a lesson source in JupyterLab, running it and saving it changes no byte of the file."""

from __future__ import annotations

import shutil
import tomllib
from pathlib import Path

import pytest
from jupytext.sync_contentsmanager import TextFileContentsManager

from grader.lessons.source import written_form

_TESTS = Path(__file__).parents[1]
_COURSE = _TESTS.parent
_FOLDERS = [_TESTS / "data" / "mini_course" / "solutions", _COURSE / "solutions"]
_SOURCES = [path for folder in _FOLDERS for path in sorted(folder.glob("*.py"))]


def run_and_save_in_jupyterlab(path: Path) -> None:
    """What JupyterLab sends back: the notebook with a kernel, execution counts, outputs and timings."""
    manager = TextFileContentsManager()
    manager.root_dir = str(path.parent)
    notebook = manager.get(path.name, type="notebook", content=True)["content"]
    notebook["metadata"]["kernelspec"] = {"display_name": "Python 3", "language": "python", "name": "python3"}
    notebook["metadata"]["language_info"] = {"name": "python", "version": "3.12.1", "file_extension": ".py"}
    notebook["metadata"]["widgets"] = {"state": {}}
    for count, cell in enumerate(notebook["cells"]):
        cell["metadata"].update(
            execution={"iopub.status.busy": "now"}, editable=True, scrolled=True, trusted=True
        )
        if cell["cell_type"] == "code":
            output = {"output_type": "stream", "name": "stdout", "text": "printed\n"}
            cell.update(execution_count=count, outputs=[output])
    manager.save({"type": "notebook", "format": "json", "content": notebook}, path.name)


@pytest.mark.parametrize("source", _SOURCES, ids=lambda path: path.stem)
def test_no_byte_changes(source: Path, tmp_path: Path) -> None:
    shutil.copy(source, tmp_path)
    shutil.copy(source.with_name("jupytext.toml"), tmp_path)
    run_and_save_in_jupyterlab(tmp_path / source.name)
    assert (tmp_path / source.name).read_bytes() == source.read_bytes()
    assert [path.name for path in tmp_path.glob("*.ipynb")] == []


def test_without_the_filters_it_would_change(tmp_path: Path) -> None:
    # else the test above could not fail
    shutil.copy(_SOURCES[0], tmp_path)
    run_and_save_in_jupyterlab(tmp_path / _SOURCES[0].name)
    assert (tmp_path / _SOURCES[0].name).read_bytes() != _SOURCES[0].read_bytes()


def test_the_filters_of_lint_are_those_of_jupyterlab(tmp_path: Path) -> None:
    settings = [tomllib.loads((folder / "jupytext.toml").read_text(encoding="utf-8")) for folder in _FOLDERS]
    assert settings[0] == settings[1]
    untidy = (
        _SOURCES[0].read_text(encoding="utf-8").replace("# %% [markdown]\n", '# %% [markdown] extra="x"\n')
    )
    (tmp_path / "00_untidy.py").write_text(untidy, encoding="utf-8")
    shutil.copy(_FOLDERS[0] / "jupytext.toml", tmp_path)
    run_and_save_in_jupyterlab(tmp_path / "00_untidy.py")
    assert (tmp_path / "00_untidy.py").read_text(encoding="utf-8") == written_form(untidy)
