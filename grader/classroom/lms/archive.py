"""A zip file from outside: refused as a whole, with the reason, or safe to read. Nothing is written here.

A zip that an LMS made has no absolute path, link or device in it, and no file twice; one that has was made or
changed by somebody else, and no part of it is trusted.
"""

from __future__ import annotations

import io
import stat
import struct
import unicodedata
import zipfile
import zlib
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from grader.errors import GraderError

__all__ = ["LIMITS", "Archive", "Limits", "Member", "Unsafe"]

MEGABYTE = 1_000_000
CHUNK = 1 << 20
UTF8 = 0x800  # the flag of a member whose name is UTF-8
ENCRYPTED = 0x1 | 0x40
UNICODE_PATH = 0x7075  # Info-ZIP's extra field with the name in UTF-8
METHODS = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA}
DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, NotImplementedError, RuntimeError)
JUNK = {"__MACOSX", ".DS_Store", "Thumbs.db", "desktop.ini", ".ipynb_checkpoints"}


class Unsafe(Exception):
    """The zip is refused; the text says why, without naming the file."""


@dataclass(frozen=True)
class Limits:
    """What a zip may hold. Bytes are those unpacked."""

    files: int = 20_000
    total: int = 4000 * MEGABYTE
    one: int = 500 * MEGABYTE
    ratio: int = 200  # unpacked to packed, for files of more than `small`
    small: int = 10 * MEGABYTE
    path: int = 1000  # bytes


LIMITS = Limits()
WITHIN = Limits(files=2000, total=200 * MEGABYTE, one=100 * MEGABYTE)  # a zip that one student handed in


@dataclass(frozen=True)
class Member:
    """One file: its path with "/" between folders and whole letters (NFC), and its size unpacked, in bytes."""

    path: str
    size: int
    archive: Archive
    info: zipfile.ZipInfo

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]

    def read(self) -> bytes:
        """The content. Unsafe where it is damaged."""
        try:
            return self.archive.zip.read(self.info)
        except DAMAGE as error:
            raise Unsafe(f"{self.path!r} in it is damaged ({error})") from None

    def inside(self) -> Archive:
        """The zip that this file is. Unsafe where it is none, or one that is refused."""
        return Archive(io.BytesIO(self.read()), limits=WITHIN)


class Archive:
    """An open zip, wholly checked. `files` leaves out folders and what systems add of their own (__MACOSX, .DS_Store).

    Unsafe when anything is wrong with it.
    """

    def __init__(self, file: IO[bytes], *, limits: Limits = LIMITS) -> None:
        self._file = file
        try:
            self.zip = zipfile.ZipFile(file)
        except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError, struct.error) as error:
            raise Unsafe(f"it is no whole zip file ({error}); was the download cut off?") from None
        infos = self.zip.infolist()
        self._check_overlap(file)
        if len(infos) > limits.files:
            raise Unsafe(f"it holds {len(infos)} files, and {limits.files} is the limit")
        self.files: list[Member] = []
        seen: set[str] = set()
        for info in infos:
            path = _checked_path(info, limits)
            _check_kind(info, path)
            _check_size(info, path, limits)
            if path in seen:
                raise Unsafe(f"it holds {path!r} twice, so it is not sure which one counts")
            seen.add(path)
            if not info.is_dir() and not _is_junk(path):
                self.files.append(Member(path, info.file_size, self, info))
        total = sum(info.file_size for info in infos)
        if total > limits.total:
            raise Unsafe(f"it would unpack to {total // MEGABYTE} MB, and {limits.total // MEGABYTE} MB is the limit")
        self._check_content()

    @classmethod
    def open(cls, path: Path) -> Archive:
        """The zip in `path`. GraderError when it is refused."""
        try:
            return cls(path.open("rb"))
        except OSError as error:
            raise GraderError(f"{path} cannot be opened: {error.strerror}") from None
        except Unsafe as error:
            raise GraderError(
                f"{path} was refused, and nothing was written: {error}. "
                "Download it from the LMS again, and leave it zipped"
            ) from None

    def __enter__(self) -> Archive:
        return self

    def __exit__(self, *_: object) -> None:
        self.zip.close()
        self._file.close()

    def _check_overlap(self, file: IO[bytes]) -> None:
        """The bombs whose members share their packed bytes."""
        infos = self.zip.infolist()
        packed, size = sum(info.compress_size for info in infos), file.seek(0, io.SEEK_END)
        if packed > size or len({info.header_offset for info in infos}) < len(infos):
            raise Unsafe("its files overlap, as in a zip bomb")

    def _check_content(self) -> None:
        """Read every member to its end once: lengths and checksums hold afterwards."""
        for info in self.zip.infolist():
            try:
                with self.zip.open(info) as file:
                    while file.read(CHUNK):
                        pass
            except DAMAGE as error:
                raise Unsafe(f"{_name(info)!r} in it is damaged or cut off ({error})") from None


def _checked_path(info: zipfile.ZipInfo, limits: Limits) -> str:
    name = _name(info)
    if len(name.encode()) > limits.path:
        raise Unsafe(f"it holds a path of {len(name)} letters: {name[:60]!r}...")
    if "\0" in info.orig_filename:
        raise Unsafe(f"it holds a name with a zero byte: {name!r}")
    path = name.replace("\\", "/")
    if path.startswith("/"):
        raise Unsafe(f"it holds an absolute path: {name!r}")
    if len(path) > 1 and path[1] == ":" and path[0].isascii() and path[0].isalpha():
        raise Unsafe(f"it holds a path on a drive: {name!r}")
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if ".." in parts:
        raise Unsafe(f"it holds a path that leads out of its folder: {name!r}")
    if not parts:
        raise Unsafe(f"it holds a file without a name: {name!r}")
    return "/".join(parts)


def _name(info: zipfile.ZipInfo) -> str:
    """A member's name in whole letters. Many programs write UTF-8 without saying so; else it is DOS's cp437."""
    name = info.orig_filename
    if not info.flag_bits & UTF8:
        raw = name.encode("cp437", errors="replace")
        told = _unicode_path(info.extra, raw)
        with suppress(UnicodeDecodeError):
            name = told if told is not None else raw.decode("utf-8")
    return unicodedata.normalize("NFC", name)


def _unicode_path(extra: bytes, raw: bytes) -> str | None:
    """The name in Info-ZIP's extra field, where there is one that belongs to the name `raw`."""
    while len(extra) >= 4:
        kind, length = struct.unpack("<HH", extra[:4])
        field, extra = extra[4 : 4 + length], extra[4 + length :]
        if kind == UNICODE_PATH and len(field) > 5 and field[0] == 1:
            if struct.unpack("<L", field[1:5])[0] != zlib.crc32(raw):
                return None
            return field[5:].decode("utf-8", errors="replace")
    return None


def _check_kind(info: zipfile.ZipInfo, path: str) -> None:
    kind = stat.S_IFMT(info.external_attr >> 16)
    if kind == stat.S_IFLNK:
        raise Unsafe(f"it holds a link: {path!r}")
    if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
        raise Unsafe(f"it holds a device or another special file: {path!r}")
    if info.flag_bits & ENCRYPTED:
        raise Unsafe(f"it is encrypted: {path!r} needs a password")
    if info.compress_type not in METHODS:
        raise Unsafe(f"{path!r} in it is packed in a way that is not supported (method {info.compress_type})")


def _check_size(info: zipfile.ZipInfo, path: str, limits: Limits) -> None:
    if info.file_size > limits.one:
        raise Unsafe(
            f"{path!r} in it has {info.file_size // MEGABYTE} MB, and {limits.one // MEGABYTE} MB is the limit"
        )
    if info.file_size > limits.small and info.file_size > limits.ratio * max(info.compress_size, 1):
        raise Unsafe(
            f"{path!r} in it unpacks to more than {limits.ratio} times its size, as in a zip bomb "
            f"({info.compress_size} to {info.file_size} bytes)"
        )


def _is_junk(path: str) -> bool:
    parts = path.split("/")
    return not JUNK.isdisjoint(parts) or parts[-1].startswith("._")
