"""The sandbox of a grading run: which one this machine gives, and how a process and its children run in it.

    host (trusted) --Popen(command(...))--> warm process --fork--> confine_child(...), then student code

`choose_level` tries each level for real before it names it; see docs/security.md for what is promised.
"""

from __future__ import annotations

import functools
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from grader.errors import GraderError
from grader.grading import landlock
from grader.grading.bubblewrap import wrapping
from grader.grading.confine import confine_child
from grader.grading.group import kill_group
from grader.grading.level import Level
from grader.grading.limits import Limits
from grader.grading.readable import PACKAGE, STUDENT_SIDE, python_paths

__all__ = ["Level", "Limits", "choose_level", "command", "confine_child", "environment", "try_level"]

# Variables of the machine that decide whether and how the numerical libraries run; nothing else is handed on.
_HANDED_ON = (
    "ATEN_CPU_CAPABILITY",
    "LD_LIBRARY_PATH",
    "MKL_CBWR",
    "ONEDNN_MAX_CPU_ISA",
    "OPENBLAS_CORETYPE",
    "OPENBLAS_L2_SIZE",
)
# Memory of large tensors is kept, as each page given back costs a page fault at the next tensor; huge pages make a fork
# cheaper. Other C libraries ignore it.
_MEMORY = ":".join(
    f"glibc.malloc.{name}={value}"
    for name, value in (("mmap_threshold", 2**25), ("top_pad", 2**24), ("trim_threshold", 2**28), ("hugetlb", 1))
)
_NO_LANDLOCK = "this kernel has no Landlock (Linux 5.13 and later, unless switched off)"
_NO_BUBBLEWRAP = "bubblewrap is not installed (Debian and Ubuntu: apt install bubblewrap)"


def choose_level(unsafe: bool = False) -> Level:
    """The best level that was seen to work here. With `unsafe`, "none" when there is no other.

    Raises GraderError, in plain words, when nothing works and `unsafe` is False.
    """
    level = _best()
    if level.name == "none" and not unsafe:
        raise GraderError(
            "This machine offers no way to shut student code in, so nothing was run.\n"
            + "".join(f"  - {reason}\n" for reason in level.why)
            + "Install bubblewrap, or grade on a Linux machine where `grader doctor` finds a sandbox.\n"
            "If you trust every submission as you trust your own code, --unsafe runs them with your rights."
        )
    return level


def command(
    level: Level, argv: Sequence[str], *, keep_fds: Iterable[int] = (), readable: Sequence[Path] = ()
) -> list[str]:
    """The command that runs `argv` as the warm process of `level`, with a clean environment.

    Start it with Popen(..., stdin=DEVNULL, pass_fds=keep_fds), from a thread that outlives it: the process is killed
    when that thread ends. `readable` are paths to be readable besides those that Python needs.
    Raises GraderError for a descriptor that is not open or a path that is not there.
    """
    for descriptor in keep_fds:
        os.fstat(descriptor)
    for path in readable:
        if not Path(path).is_absolute() or not Path(path).exists():
            raise GraderError(f"The sandbox was asked to show {path}, which is no absolute path of an existing file.")
    wrap = wrapping(_bubblewrap() or "bwrap", level, readable) if level.wrapped else []
    if os.name != "posix":
        return list(argv)
    variables = [f"{name}={value}" for name, value in environment(level).items()]
    return [shutil.which("env") or "/usr/bin/env", "-i", *variables, *wrap, *argv]


def environment(level: Level) -> dict[str, str]:
    """All environment variables of the warm process: nothing of the caller's but what numerical libraries need."""
    folder = "/tmp" if level.wrapped else tempfile.gettempdir()
    variables = {
        "GLIBC_TUNABLES": _MEMORY,
        "HOME": folder,
        "LANG": "C.UTF-8",
        "LOGNAME": "student",
        "MPLBACKEND": "Agg",
        "OMP_NUM_THREADS": "1",
        "PATH": os.pathsep.join((str(Path(sys.executable).parent), "/usr/bin", "/bin")),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONHASHSEED": "0",
        "PYTHONUTF8": "1",
        "TMPDIR": folder,
        "USER": "student",
    }
    variables |= {name: os.environ[name] for name in _HANDED_ON if name in os.environ}
    folders = [path for path in sys.path if Path(path).name in ("site-packages", "dist-packages")]
    elsewhere = [path for path in folders if not _belongs_to_this_python(Path(path))]
    if PACKAGE.parent.name not in ("site-packages", "dist-packages"):
        elsewhere.append(str(PACKAGE.parent))  # run from the source tree
    return variables | ({"PYTHONPATH": os.pathsep.join(elsewhere)} if elsewhere else {})


def try_level(level: Level, *, children: int = 1, module: str = "") -> dict[str, Any]:
    """Start a process at `level`, confine `children` children and see what they can do; see probe.py for the result.

    A level that does not start gives {"broken": [why]}.
    """
    argv = [sys.executable, "-m", "grader.grading.probe", level.as_text(), str(children), module]
    try:
        output, errors, code = _run(command(level, argv), seconds=90.0)
        result: dict[str, Any] = json.loads(output)
    except (OSError, subprocess.TimeoutExpired) as error:
        return {"broken": [f"did not run: {error}"]}
    except json.JSONDecodeError:
        last = (errors.strip().splitlines() or [f"exit code {code}"])[-1]
        return {"broken": [last]}
    return result


def _run(argv: list[str], seconds: float) -> tuple[str, str, int]:
    """What it wrote to stdout and stderr, and its exit code.

    In a session of its own, killed as a whole: where bubblewrap alone is ended while it starts (by Ctrl+C, say), what
    it has started waits for it for ever, deaf to all signals but SIGKILL.
    """
    process = subprocess.Popen(
        argv,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        return *process.communicate(timeout=seconds), process.returncode
    finally:
        kill_group(process)


@functools.cache
def _best() -> Level:
    why: list[str] = []
    if sys.platform != "linux":
        return Level("none", why=(f"there is no sandbox for {sys.platform}; Linux has one",))
    for level in _candidates(why):
        broken = try_level(level)["broken"]
        if not broken:
            return replace(level, why=tuple(why))
        why.append(f"{level.describe()}: {'; '.join(broken)}")
    return Level("none", why=tuple(why))


def _candidates(why: list[str]) -> Iterator[Level]:
    """Levels from best to worst; what cannot even be tried is noted in `why`."""
    abi = landlock.abi()
    if _bubblewrap() is None:
        why.append(_NO_BUBBLEWRAP)
    else:
        if os.geteuid() == 0 and _readable_by_all():
            yield Level("bubblewrap", namespaces=True, landlock=abi, nobody=True)
        yield Level("bubblewrap", namespaces=True, landlock=abi)
        if abi:
            yield Level("bubblewrap", landlock=abi)
    if not abi:
        return why.append(_NO_LANDLOCK)
    yield Level("landlock", namespaces=True, landlock=abi)
    yield Level("landlock", landlock=abi)
    return None


def _bubblewrap() -> str | None:
    return shutil.which("bwrap")


def _readable_by_all() -> bool:
    """Whether the user nobody could run this Python: root's umask may have kept its files to root."""
    samples = [*python_paths(), *(path for path in STUDENT_SIDE if path.exists()), Path(__file__), Path(os.__file__)]
    return all(path.stat().st_mode & 0o004 for path in samples)


def _belongs_to_this_python(path: Path) -> bool:
    return any(path.is_relative_to(prefix) for prefix in (sys.prefix, sys.base_prefix))
