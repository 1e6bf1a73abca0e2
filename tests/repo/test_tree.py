"""Nothing of one machine in the tree: no absolute path, no package registry's host, no stray file."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# Written so that this file does not contain what it looks for.
HERE = [re.escape(str(ROOT)), re.escape(sys.prefix)]
PATHS = re.compile("|".join([r"/wo[r]k/", r"/ro[o]t/", r"/tmp/se[t]up", *HERE]))
HOSTS = re.compile(r"pypi\.o[r]g|python[h]osted|download\.pytorch\.o[r]g|registry\.npm[j]s|anaconda\.o[r]g")


def files() -> list[Path]:
    """Every file that is or would be committed."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    return [ROOT / name for name in listed if (ROOT / name).is_file()]


def hits(pattern: re.Pattern[str]) -> list[str]:
    found = []
    for path in files():
        text = path.read_bytes().decode("utf-8", errors="replace")
        found += [f"{path.relative_to(ROOT)}: {match.group()}" for match in pattern.finditer(text)]
    return found


def test_no_path_of_one_machine() -> None:
    assert hits(PATHS) == []


def test_no_host_of_a_package_registry() -> None:
    assert hits(HOSTS) == []


def test_no_conflict_marker_and_no_huge_file() -> None:
    assert hits(re.compile(r"^(<{7}|>{7}) ", re.MULTILINE)) == []
    assert [str(path) for path in files() if path.stat().st_size > 1_000_000] == []


def test_what_we_look_for_would_be_found() -> None:
    assert PATHS.search("/" + "root/x")
    assert PATHS.search(str(ROOT / "x"))
    assert HOSTS.search("https://py" + "pi.org/simple")
