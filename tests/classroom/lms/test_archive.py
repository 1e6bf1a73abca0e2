"""Zips from outside: each way to do harm is refused, by name, before anything is written."""

from __future__ import annotations

import io
import stat
import struct
import unicodedata
import warnings
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import example, given
from hypothesis import strategies as st

from grader.classroom.folder import ClassFolder
from grader.classroom.lms.archive import Archive, Limits, Unsafe
from grader.cli import main
from grader.errors import GraderError

GOOD = "lovelaceada_4021_77_00_warm_up.ipynb"


def one(name: str = GOOD, content: bytes = b"{}", *, mode: int = 0, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """A zip of one member, made as it stands."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        info = zipfile.ZipInfo(GOOD)
        info.filename = name  # ZipInfo itself would mend it
        info.external_attr = mode << 16
        info.create_system = 3
        archive.writestr(info, content, compress_type=method)
    return buffer.getvalue()


def twice() -> bytes:
    buffer = io.BytesIO()
    with warnings.catch_warnings(action="ignore"), zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(GOOD, "1")
        archive.writestr(GOOD, "2")
    return buffer.getvalue()


def twice_by_letters() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(unicodedata.normalize("NFC", "é.ipynb"), "1")
        archive.writestr(unicodedata.normalize("NFD", "é.ipynb"), "2")
    return buffer.getvalue()


def with_flag(flag: int, data: bytes) -> bytes:
    """A zip whose member has a general purpose flag set, in both of its headers."""
    changed = bytearray(data)
    for signature, place in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        start = changed.index(signature) + place
        changed[start : start + 2] = struct.pack("<H", struct.unpack("<H", changed[start : start + 2])[0] | flag)
    return bytes(changed)


def with_method(method: int, data: bytes) -> bytes:
    changed = bytearray(data)
    for signature, place in ((b"PK\x03\x04", 8), (b"PK\x01\x02", 10)):
        start = changed.index(signature) + place
        changed[start : start + 2] = struct.pack("<H", method)
    return bytes(changed)


def damaged() -> bytes:
    data = bytearray(one(content=b"print('hello')" * 50, method=zipfile.ZIP_STORED))
    data[data.index(b"hello")] ^= 1
    return bytes(data)


def overlapping() -> bytes:
    """Two members that share one packed file, as in David Fifield's zip bomb."""
    data = one(content=b"x" * 1000)
    start = data.index(b"PK\x01\x02")
    end = data.index(b"PK\x05\x06")
    entry = data[start:end]
    other = bytearray(entry)
    other[46] ^= 1  # another first letter
    directory = entry + bytes(other)
    tail = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 2, 2, len(directory), start, 0)
    return data[:start] + directory + tail


REFUSED: dict[str, tuple[Callable[[], bytes], str]] = {
    "a path that leads out": (lambda: one("../../etc/passwd"), "leads out of its folder"),
    "a path that leads out, with backslashes": (lambda: one("a\\..\\..\\b"), "leads out of its folder"),
    "a hidden way out": (lambda: one("ada/x/../../../b"), "leads out of its folder"),
    "an absolute path": (lambda: one("/etc/passwd"), "absolute path"),
    "an absolute path, with a backslash": (lambda: one("\\windows\\x"), "absolute path"),
    "a drive": (lambda: one("C:/x.ipynb"), "on a drive"),
    "a zero byte": (lambda: one("a.ipynb\0.exe"), "zero byte"),
    "no name": (lambda: one("./."), "without a name"),
    "a very long path": (lambda: one("x/" * 600 + "y"), "path of 1201 letters"),
    "a link": (lambda: one(content=b"/etc/passwd", mode=stat.S_IFLNK | 0o777), "a link"),
    "a device": (lambda: one(mode=stat.S_IFCHR | 0o666), "a device"),
    "a pipe": (lambda: one(mode=stat.S_IFIFO | 0o666), "special file"),
    "the same name twice": (twice, "twice"),
    "the same name twice, in other letters": (twice_by_letters, "twice"),
    "a password": (lambda: with_flag(0x1, one()), "encrypted"),
    "a way of packing nobody knows": (lambda: with_method(97, one()), "not supported"),
    "a bomb by its ratio": (lambda: one(content=bytes(20_000_000)), "as in a zip bomb"),
    "a bomb by overlap": (overlapping, "overlap"),
    "a damaged file": (damaged, "damaged or cut off"),
    "cut off": (lambda: one(content=b"x" * 500, method=zipfile.ZIP_STORED)[:-40], "no whole zip"),
    "half of it": (lambda: one(content=bytes(range(256)) * 9)[:200], "no whole zip"),
    "no zip": (lambda: b"<html>Please log in</html>", "no whole zip"),
    "empty": (lambda: b"", "no whole zip"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_harm_is_refused_in_one_message_and_nothing_is_written(
    what: str, listed: ClassFolder, write_zip: Callable[..., Path]
) -> None:
    make, said = REFUSED[what]
    path, before = write_zip(make()), sorted(listed.root.rglob("*"))
    result = CliRunner().invoke(main, ["import-zip", str(listed.root), str(path), "--from", "canvas"])
    assert result.exit_code == 2
    assert said in result.stderr
    assert str(path) in result.stderr
    assert "nothing was written" in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1
    assert [p for p in sorted(listed.root.rglob("*")) if p.name != "lock"] == [p for p in before if p.name != "lock"]


def test_limits_of_number_and_size() -> None:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for number in range(5):
            archive.writestr(str(number), bytes(range(256)) * 10)
    assert len(Archive(data, limits=Limits(files=5, total=13_000_000, one=3000)).files) == 5
    with pytest.raises(Unsafe, match="holds 5 files, and 4 is the limit"):
        Archive(data, limits=Limits(files=4))
    with pytest.raises(Unsafe, match="would unpack to"):
        Archive(data, limits=Limits(total=12_000))
    with pytest.raises(Unsafe, match="is the limit"):
        Archive(data, limits=Limits(one=2000))


def test_a_size_that_lies_is_found_out() -> None:
    data = bytearray(one(content=b"x" * 5000))
    start = data.index(b"PK\x01\x02") + 24  # the unpacked size, in the directory
    data[start : start + 4] = struct.pack("<L", 10)
    with pytest.raises(Unsafe, match="damaged"):
        Archive(io.BytesIO(data))


def test_a_zip_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(GraderError, match="cannot be opened: No such file"):
        Archive.open(tmp_path / "none.zip")


def test_what_systems_add_is_left_out() -> None:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for name in (
            "__MACOSX/x/._a.ipynb",
            ".DS_Store",
            "x/.DS_Store",
            "x/Thumbs.db",
            "x/._a.ipynb",
            "x/a.ipynb",
            "x/",
        ):
            archive.writestr(name, "")
        archive.writestr("x/.ipynb_checkpoints/a-checkpoint.ipynb", "")
    assert [member.path for member in Archive(data).files] == ["x/a.ipynb"]


def raw_named(raw: bytes, *, flag: int = 0, extra: bytes = b"") -> bytes:
    """A zip with a member whose name is `raw`, byte for byte: a local header, a directory entry, an end."""
    crc = zlib.crc32(b"")
    common = struct.pack("<HHHHHLLLHH", 20, flag, 0, 0, 0x21, crc, 0, 0, len(raw), len(extra))
    local = b"PK\x03\x04" + common + raw + extra
    entry = b"PK\x01\x02" + struct.pack("<H", 20) + common + struct.pack("<HHHLL", 0, 0, 0, 0, 0) + raw + extra
    return local + entry + struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 1, 1, len(entry), len(local), 0)


names = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"], exclude_characters="/\\:."), min_size=1, max_size=40
)


@example(name="ünïcode_明")
@given(name=names)
def test_names_in_utf8_come_back_with_and_without_the_flag(name: str) -> None:
    expected = unicodedata.normalize("NFC", name)
    for flag in (0, 0x800):
        (member,) = Archive(io.BytesIO(raw_named(name.encode(), flag=flag))).files
        assert member.path == expected


@pytest.mark.parametrize("name", ["Müller.ipynb", "señor.ipynb", "Ångström.ipynb"])
def test_names_in_doss_letters(name: str) -> None:
    (member,) = Archive(io.BytesIO(raw_named(name.encode("cp437")))).files
    assert member.path == name


def test_info_zips_own_field_for_the_name() -> None:
    raw, name = b"?.ipynb", "明.ipynb"
    field = b"\x01" + struct.pack("<L", zlib.crc32(raw)) + name.encode()
    extra = struct.pack("<HH", 0x7075, len(field)) + field
    (member,) = Archive(io.BytesIO(raw_named(raw, extra=extra))).files
    assert member.path == name
    (other,) = Archive(io.BytesIO(raw_named(b"!.ipynb", extra=extra))).files
    assert other.path == "!.ipynb"


@given(st.binary(max_size=300))
def test_any_bytes_are_refused_without_a_traceback(data: bytes) -> None:
    with pytest.raises(Unsafe):
        Archive(io.BytesIO(data))


@given(place=st.integers(0, 400), value=st.integers(0, 255))
def test_a_changed_byte_is_refused_or_harmless(place: int, value: int) -> None:
    data = bytearray(one(content=b"print('hello')\n" * 9) + b"")
    data[place % len(data)] = value
    try:
        archive = Archive(io.BytesIO(data))
    except Unsafe:
        return
    for member in archive.files:
        assert ".." not in member.path.split("/")
        assert not member.path.startswith("/")
        assert member.read() == b"print('hello')\n" * 9
