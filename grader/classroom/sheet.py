"""Tables as other programs save them (CSV in any of its dialects), and tables that a spreadsheet may open safely."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from grader.errors import GraderError

__all__ = ["Line", "Sheet", "heading", "read_sheet", "safe", "sheet_text"]

DELIMITERS = ",;\t|"
LARGEST = 20_000_000  # bytes; a class list has some thousands
FORMULA = ("=", "+", "-", "@", "\t", "\n", "\0")  # what OWASP lists: a spreadsheet runs such a cell
HARMLESS = re.compile(r"[+-]?\d+([.,]\d+)?%?|-")  # numbers, and a dash for nothing


@dataclass(frozen=True)
class Line:
    """One row and the line of the file it begins on, the first being 1. As many cells as the header has, or more."""

    number: int
    cells: list[str]


@dataclass(frozen=True)
class Sheet:
    """A table with its headings as they stand."""

    path: Path
    header: list[str]
    lines: list[Line]
    delimiter: str

    def column(self, *names: str) -> int | None:
        """The first column headed by one of `names` (earlier names first), in any spelling; None: there is none."""
        headings = [heading(text) for text in self.header]
        return next((headings.index(heading(name)) for name in names if heading(name) in headings), None)

    def texts(self, line: Line, *names: str) -> tuple[str, ...]:
        """What stands in a line's columns headed by `names`, without the empty cells."""
        columns = [self.column(name) for name in names]
        return tuple(line.cells[c] for c in columns if c is not None and line.cells[c])


def heading(text: str) -> str:
    """A heading without what people write differently: case, spaces, hyphens, underscores."""
    return "".join(letter for letter in text.casefold() if letter.isalnum())


def read_sheet(path: Path) -> Sheet:
    """The table in `path`: UTF-8 with or without a BOM, UTF-16 or Latin letters; commas, semicolons, tabs or bars.

    Blank lines are left out. GraderError for what is no table, with the line where it breaks.
    """
    text = _text(path)
    named = re.match(r"sep=(.)\r?\n", text, re.IGNORECASE)  # Excel's own first line
    text, skipped = (text[named.end() :], 1) if named else (text, 0)
    delimiter = named.group(1) if named else _delimiter(text)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    lines, start = [], 1 + skipped
    try:
        for cells in reader:
            if any(cell.strip() for cell in cells):
                lines.append(Line(start, [cell.strip() for cell in cells]))
            start = reader.line_num + 1 + skipped
    except csv.Error as error:
        raise GraderError(f"{path}, line {start}: no table that can be read: {error}. Is a quote left open?") from None
    if not lines:
        raise GraderError(f"{path} is empty: the first line must name the columns")
    header = lines[0].cells
    return Sheet(path, header, [_filled(line, len(header)) for line in lines[1:]], delimiter)


def _filled(line: Line, width: int) -> Line:
    return Line(line.number, line.cells + [""] * (width - len(line.cells)))


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST + 1)
    except OSError as error:
        raise GraderError(f"{path} cannot be read: {error.strerror}") from None
    if len(data) > LARGEST:
        raise GraderError(f"{path} is larger than {LARGEST // 1_000_000} MB: that is no list of a class")
    if data.startswith((b"PK\x03\x04", b"\xd0\xcf\x11\xe0")):
        raise GraderError(f"{path} is a spreadsheet's own file, not CSV. Open it and save it as CSV (UTF-8)")
    text = _decoded(data)
    if "\0" in text:
        raise GraderError(f"{path} is not text. Save the list as CSV (UTF-8)")
    return text


def _decoded(data: bytes) -> str:
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return data.decode("utf-16", errors="replace")
    head = data[:200]
    for encoding, zeros in (
        ("utf-16-le", head[1::2]),
        ("utf-16-be", head[::2]),
    ):  # without a BOM: every other byte is 0
        if len(zeros) > 3 and zeros.count(0) > 0.8 * len(zeros):
            return data.decode(encoding, errors="replace")
    for encoding in ("utf-8-sig", "cp1252"):
        try:
            return data.decode(encoding)
        except UnicodeDecodeError:
            continue
    return data.decode("latin-1")


def _delimiter(text: str) -> str:
    """The delimiter that makes most columns of the first line; a comma where none does."""
    first = next((line for line in text.splitlines() if line.strip()), "")
    return max(DELIMITERS, key=lambda mark: len(next(csv.reader([first], delimiter=mark))))


def safe(cell: str) -> str:
    """A cell that no spreadsheet takes for a formula: an apostrophe goes before what begins like one. Numbers stay.

    Lines within it end in a line feed alone.
    """
    cell = cell.replace("\r\n", "\n").replace("\r", "\n")
    return f"'{cell}" if cell.startswith(FORMULA) and not HARMLESS.fullmatch(cell) else cell


def sheet_text(rows: Iterable[Sequence[str]], *, delimiter: str = ",") -> str:
    """The text of a table, all of its cells made `safe`."""
    text = io.StringIO()
    writer = csv.writer(text, delimiter=delimiter, lineterminator="\n")
    writer.writerows([safe(cell) for cell in row] for row in rows)
    return text.getvalue()
