"""`grader learn`: where it serves, what it says, when it opens a browser; one real server."""

from __future__ import annotations

import json
import os
import re
import socket
import sys
import urllib.error
import urllib.request
import webbrowser
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from grader.errors import GraderError
from grader.learning.serve import addresses, has_browser, pick_port
from tests.jupyterlab import serving

DESKTOP = {"DISPLAY": ":0"}


def test_a_taken_port_is_passed_over_unless_it_was_asked_for() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(GraderError, match=f"port {port}") as caught:
            pick_port("127.0.0.1", port)
        assert "grader learn --port" in str(caught.value)
    assert pick_port("127.0.0.1", port) == port, "free again"


def test_without_a_wish_the_first_free_port_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        monkeypatch.setattr("grader.learning.serve._DEFAULT_PORT", port)
        assert pick_port("127.0.0.1", None) != port


@pytest.mark.parametrize("ip", ["192.0.2.1", "no.such.host.invalid", "not an address"])
def test_an_address_that_is_not_this_machines_is_refused_in_words(ip: str) -> None:
    with pytest.raises(GraderError, match="Cannot serve on"):
        pick_port(ip, 0)


@pytest.mark.parametrize(
    ("ip", "environ"),
    [
        ("0.0.0.0", DESKTOP),
        ("localhost", {}),
        ("localhost", {"DISPLAY": ""}),
        ("localhost", {**DESKTOP, "SSH_CONNECTION": "a b c d"}),
    ],
)
def test_no_browser_where_nobody_would_see_it(
    ip: str, environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setattr(webbrowser, "get", lambda: object())
    assert not has_browser(ip, environ)


def test_a_browser_on_a_desktop_that_has_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webbrowser, "get", lambda: object())
    assert has_browser("localhost", DESKTOP)

    def none() -> object:
        raise webbrowser.Error("could not locate runnable browser")

    monkeypatch.setattr(webbrowser, "get", none)
    assert not has_browser("localhost", DESKTOP)


def test_addresses_name_this_machine_when_it_serves_everyone() -> None:
    local = addresses("localhost", 8888, "t", "00_a.ipynb")
    assert local == ["http://localhost:8888/lab/tree/00_a.ipynb?token=t"]
    everywhere = addresses("0.0.0.0", 8888, "t", "00_a.ipynb")
    assert [urlsplit(url).hostname for url in everywhere] == [socket.gethostname().lower(), "localhost"]
    assert urlsplit(addresses("::1", 1, "t", "a")[0]).hostname == "::1"


def test_a_real_server_opens_lesson_00_and_asks_nobody_for_news(tmp_path: Path) -> None:
    with serving(tmp_path / "my course", "--ip", "0.0.0.0") as course:
        assert course.printed.startswith(f"Your lessons: {course.folder}")
        assert re.search(r"/lab/tree/00_\w+\.ipynb\?token=\w{32}$", course.url)
        url = re.sub(r"//[^:]+:", "//127.0.0.1:", course.url)
        with urllib.request.urlopen(url, timeout=60) as answer:
            page = answer.read().decode()
        with pytest.raises(urllib.error.HTTPError, match="403"):
            urllib.request.urlopen(re.sub(r"/lab.*", "/api/contents", url), timeout=60)
    found = re.search(r'id="jupyter-config-data"[^>]*>(.*?)</script>', page, re.DOTALL)
    assert found
    settings = json.loads(found.group(1))
    assert settings["news"] == {"disabled": True}
    assert settings["extensionManager"]["can_install"] is False
    assert "@jupyterlab/apputils-extension:announcements" in settings["disabledExtensions"]
    assert Path(settings["serverRoot"]) == course.folder


def decoy_kernel(folder: Path) -> Path:
    """A kernelspec named python3 that cannot work, as another environment may have left one in the home folder."""
    spec = folder / "kernels" / "python3" / "kernel.json"
    spec.parent.mkdir(parents=True)
    spec.write_text(json.dumps({"argv": ["/no/such/python"], "display_name": "decoy", "language": "python"}))
    return folder


def test_the_kernel_is_this_python_whatever_else_is_named_python3(tmp_path: Path) -> None:
    home = decoy_kernel(tmp_path / "home" / ".local" / "share" / "jupyter").parents[2]
    decoy_kernel(home / ".ipython")
    environ = {"HOME": str(home), "JUPYTER_PATH": str(decoy_kernel(tmp_path / "path"))}
    environ |= {"JUPYTER_DATA_DIR": str(decoy_kernel(tmp_path / "data")), "JUPYTER_PREFER_ENV_PATH": "0"}
    with serving(tmp_path / "mine", env=environ) as course:
        found = re.fullmatch(r"(http://[^/]+)/.*token=(\w+)", course.url)
        assert found
        request = urllib.request.Request(f"{found[1]}/api/kernelspecs/python3")
        request.add_header("Authorization", f"token {found[2]}")
        with urllib.request.urlopen(request, timeout=120) as answer:
            spec = json.load(answer)["spec"]
    assert os.path.normpath(spec["argv"][0]) == os.path.normpath(sys.executable)
    assert spec["display_name"] == "Python 3 (ipykernel)"


def test_after_a_restart_it_opens_where_work_was_left(tmp_path: Path) -> None:
    with serving(tmp_path / "mine") as course:
        assert "/lab/tree/00_" in course.url
        lesson = course.folder / "02_relu.ipynb"
        content = json.loads(lesson.read_bytes())
        content["cells"][1]["execution_count"] = 1
    lesson.write_text(json.dumps(content))
    with serving(tmp_path / "mine") as course:
        assert "/lab/tree/02_relu.ipynb?token=" in course.url


def test_ctrl_c_stops_a_running_kernel_and_then_ends(tmp_path: Path) -> None:
    """What `serving` asserts at its end; a kernel that was left behind would keep its connection file."""
    with serving(tmp_path / "mine") as course:
        found = re.fullmatch(r"(http://[^/]+)/.*token=(\w+)", course.url)
        assert found
        request = urllib.request.Request(f"{found[1]}/api/kernels", data=b'{"name": "python3"}')
        request.add_header("Authorization", f"token {found[2]}")
        with urllib.request.urlopen(request, timeout=120) as answer:
            kernel = json.load(answer)["id"]
        assert (course.folder / ".grader" / "jupyter" / "runtime" / f"kernel-{kernel}.json").exists()
