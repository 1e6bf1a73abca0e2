"""Runs a lesson in a fresh kernel and survives what is in it: loops, crashes, floods of output, warnings,
exits.

`ExecuteLesson` stands where nbgrader's Execute stands (`c.Autograde.autograde_preprocessors`), so the
formgrader's button and `nbgrader autograde` take the same path as `grader grade`. A cell that kills the
kernel or cannot be interrupted is left out and the notebook is run again without it: verdicts earned before
are kept, and later exercises are still graded.
"""

from __future__ import annotations

import math
import os
import signal
import tempfile
from contextlib import suppress
from pathlib import Path
from time import monotonic
from typing import Any

from nbclient.exceptions import CellTimeoutError, DeadKernelError
from nbclient.util import run_sync
from nbformat import NotebookNode
from nbformat.v4 import new_output
from nbgrader.preprocessors import Execute
from nbgrader.utils import is_grade
from traitlets import Bool, Integer, Unicode

from grader.classroom.settle import VERDICT, has_verdict, settle

__all__ = ["ExecuteLesson"]

DIED = "KernelDied"
STUCK = "CellTimeoutError"
NOT_RUN = "NotRun"

# Sent to the kernel before the first cell. exit() and quit() would stop the whole kernel a moment later, in
# another cell.
PRELUDE = """
def _leave(*_):
    raise SystemExit("exit() or quit() was called")
get_ipython().ask_exit = _leave
del _leave
"""


class ExecuteLesson(Execute):  # type: ignore[misc]
    """Runs every code cell, whatever the others do; afterwards each test cell's score cannot be misread."""

    timeout = Integer(30, help="Seconds a cell may take.").tag(config=True)
    submission_timeout = Integer(300, help="Seconds a whole submission may take.").tag(config=True)
    max_output_bytes = Integer(200_000, help="Bytes a cell may print; the rest is dropped.").tag(config=True)
    max_restarts = Integer(6, help="How many kernels may die before the rest is not run.").tag(config=True)
    secret_file = Unicode("", help="File with the class's secret, for the hidden tests' seeds.").tag(config=True)
    raise_on_iopub_timeout = Bool(True)  # a cell that does not even answer an interrupt must not go unnoticed
    iopub_timeout = Integer(8)
    ipython_hist_file = Unicode(":memory:")

    stopped = False

    def preprocess(
        self, nb: NotebookNode, resources: dict[str, Any], km: Any = None
    ) -> tuple[NotebookNode, dict[str, Any]]:
        """Run `nb` in place. `resources["metadata"]["path"]` is the working folder."""
        nb.metadata["kernelspec"] = {"display_name": "Python 3", "language": "python", "name": "python3"}
        self.shutdown_kernel = "immediate"
        self.deadline = monotonic() + self.submission_timeout
        self._settled: set[int] = set()  # cells whose outputs stand: run in an earlier kernel, or given up
        self._left_out: set[int] = set()  # cells that ended a kernel
        for _ in range(self.max_restarts + 1):
            if self._run_all(nb, resources) or self.stopped:
                break
        self._mark_not_run(nb)
        for cell in nb.cells:
            settle(cell)
        return nb, resources

    def _run_all(self, nb: NotebookNode, resources: dict[str, Any]) -> bool:
        """One kernel from top to bottom; False when a cell ended it."""
        self.restart(nb, resources)
        with (
            tempfile.TemporaryDirectory(prefix="gk") as private,
            self.setup_kernel(env=self._environment(private)),
        ):
            client: Any = self.kc
            self.wait_for_reply(client.kernel_info())
            self.wait_for_reply(client.execute(PRELUDE, silent=True, store_history=False))
            for index, cell in enumerate(list(nb.cells)):
                if self.stopped or monotonic() > self.deadline:
                    return True
                if cell.cell_type != "code" or self._need_not_run(index, cell):
                    continue
                if not self._run_cell(nb, index, cell):
                    return False
        return True

    def stop(self) -> None:
        """End the run from another thread: the kernel is killed, the rest is not run."""
        self.stopped = True
        group = getattr(getattr(self.km, "provisioner", None), "pgid", None)
        if group:
            _kill_group(group)

    def restart(self, nb: NotebookNode, resources: dict[str, Any]) -> None:
        """Forget the last kernel. The base class keeps its state in __init__'s fields."""
        self.nb, self.km, self.kc, self.owns_km = nb, None, None, True
        self.reset_execution_trackers()
        self._check_assign_resources(resources)

    def _need_not_run(self, index: int, cell: NotebookNode) -> bool:
        """Left-out cells, and test cells that have their verdict already."""
        return index in self._left_out or (index in self._settled and is_grade(cell) and has_verdict(cell))

    def _run_cell(self, nb: NotebookNode, index: int, cell: NotebookNode) -> bool:
        """Run one cell, keeping outputs it got in an earlier kernel. False when the kernel is lost."""
        before = list(cell.get("outputs", ())) if index in self._settled else None
        self._printed = 0
        try:
            self.execute_cell(cell, index)
        except (DeadKernelError, CellTimeoutError) as error:
            self._left_out.add(index)
            if before is None:
                cell.outputs.append(self._what_happened(error))
        finally:
            if before is not None:
                cell.outputs = before
            nb.cells[index] = cell
            self._settled.add(index)
        return index not in self._left_out

    def _what_happened(self, error: Exception) -> NotebookNode:
        if isinstance(error, DeadKernelError):
            return _error(DIED, "this cell ended the whole Python process. The other cells were run without it.")
        return _error(
            STUCK,
            f"no answer within {self.timeout} s, and no reaction to an interrupt. The other cells were run without it.",
        )

    def _mark_not_run(self, nb: NotebookNode) -> None:
        """Test cells that were never reached get an error, so that no output is not taken for success."""
        for index, cell in enumerate(nb.cells):
            if cell.cell_type == "code" and cell.source.strip() and index not in self._settled:
                cell.outputs = [
                    _error(
                        NOT_RUN,
                        f"not run: the submission took more than {self.submission_timeout} s "
                        "or its cells ended the Python process again and again.",
                    )
                ]

    def _environment(self, private: str) -> dict[str, str]:
        """The kernel's environment: one thread (several kernels run at once), nobody's profile, the class's
        secret."""
        env = dict(os.environ, NBGRADER_EXECUTION="autograde", IPYTHONDIR=private, OMP_NUM_THREADS="1")
        if self.secret_file and Path(self.secret_file).is_file():
            env["GRADER_CLASS_SECRET"] = Path(self.secret_file).read_text().strip()
        return env

    def create_kernel_manager(self) -> Any:
        """A kernel of this Python, whatever the student's notebook names."""
        self.kernel_name = "python3"
        km = super().create_kernel_manager()
        self._sockets = tempfile.TemporaryDirectory(prefix="gs")
        # Unix sockets: kernels started at the same time cannot take each other's port.
        km.transport, km.connection_file = "ipc", os.path.join(self._sockets.name, "k.json")
        km.ip = os.path.join(self._sockets.name, "s")
        return km

    async def _async_cleanup_kernel(self) -> None:
        """End the kernel and everything it started."""
        group = getattr(getattr(self.km, "provisioner", None), "pgid", None)
        await super()._async_cleanup_kernel()
        if group:
            _kill_group(group)
        self._sockets.cleanup()

    _cleanup_kernel = run_sync(_async_cleanup_kernel)

    def _get_timeout(self, cell: NotebookNode | None) -> int:
        """What is left: the cell's limit or the submission's."""
        limit: int = self.timeout
        self.error_on_timeout = {
            "ename": STUCK,
            "evalue": f"stopped: no answer within {limit} s",
            "traceback": [f"{STUCK}: stopped: no answer within {limit} s"],
        }
        return max(1, min(limit, math.ceil(self.deadline - monotonic())))

    def output(self, outs: list[NotebookNode], msg: dict[str, Any], display_id: str | None, cell_index: int) -> Any:
        """Keep what a cell shows up to the limit; a score and a verdict always come through."""
        content = msg["content"]
        if not _is_result(msg):
            self._printed += len(str(content.get("text", content.get("data", ""))))
            if self._printed > self.max_output_bytes:
                _say_once(outs, f"\n[output over {self.max_output_bytes} bytes was dropped]\n")
                return None
        return super().output(outs, msg, display_id, cell_index)


def _kill_group(group: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)


def _is_result(msg: dict[str, Any]) -> bool:
    data = msg["content"].get("data", {})
    return msg["msg_type"] in ("error", "execute_result") or VERDICT in data


def _say_once(outs: list[NotebookNode], text: str) -> None:
    if not any(out.get("text") == text for out in outs):
        outs.append(new_output("stream", name="stdout", text=text))


def _error(name: str, text: str) -> NotebookNode:
    made: NotebookNode = new_output("error", ename=name, evalue=text, traceback=[f"{name}: {text}"])
    return made
