"""Rules about a lesson's text: title, recap, links, pictures."""

from __future__ import annotations

import re
from collections.abc import Iterator

from grader.lessons.rules.rule import Context, Faults, Rule
from grader.lessons.source import Lesson

__all__ = ["RULES"]

_HEADING = re.compile(r"(#{1,6})\s+(.*\S)")
_LINK = re.compile(r"\]\(https?://[^)\s]+|<https?://[^>\s]+>")
_MARKDOWN_PICTURE = re.compile(r"!\[([^\]]*)\]\(\s*<?([^)>\s]*)")
_HTML_PICTURE = re.compile(r"<img\b[^>]*>", flags=re.IGNORECASE)


def title(lesson: Lesson, context: Context) -> Faults:
    """The first cell is text and opens with the lesson's only `# ` heading."""
    first = lesson.cells[0]
    if first.kind != "markdown" or not first.source.startswith("# "):
        yield first.line, "the first cell is not the title: start with a markdown cell `# # Title`"
    for line in [line for line, level, _ in _headings(lesson) if level == 1][1:]:
        yield line, "a second heading of the first level: a lesson has one title, use `##` below it"


def recap(lesson: Lesson, context: Context) -> Faults:
    """The lesson has a heading with the word Recap."""
    if not any("recap" in text.lower() for _, _, text in _headings(lesson)):
        yield lesson.cells[-1].line, "there is no recap: add a heading `## Recap` and at most five lines"


def further_reading(lesson: Lesson, context: Context) -> Faults:
    """The lesson has a heading Further reading with at least one link below it."""
    start = next((line for line, _, text in _headings(lesson) if "further reading" in text.lower()), None)
    if start is None:
        yield (
            lesson.cells[-1].line,
            "there are no links to go on: add a heading `## Further reading` and a list",
        )
    elif not any(line >= start and _LINK.search(text) for line, text in _prose(lesson)):
        yield start, "no link below this heading: add at least one like `[text](https://...)`"


def alt_text(lesson: Lesson, context: Context) -> Faults:
    """Every picture says in words what one sees in it."""
    for line, text in _prose(lesson):
        for match in _MARKDOWN_PICTURE.finditer(text):
            if not match[1].strip():
                yield line, f"picture {match[2]} has no alt text: write `![what one sees in it]({match[2]})`"
        for tag in _HTML_PICTURE.findall(text):
            if not re.search(r"\balt\s*=\s*(\"[^\"]*\w|'[^']*\w)", tag, flags=re.IGNORECASE):
                yield line, 'this <img> has no alt text: add alt="what one sees in it"'


def pictures_at_hand(lesson: Lesson, context: Context) -> Faults:
    """Pictures come with the course: no picture from the network, none that is missing."""
    for line, text in _prose(lesson):
        for address in _picture_addresses(text):
            if re.match(r"(https?:)?//", address):
                yield line, f"picture {address} needs a network: ship it beside the notebook"
            elif address.startswith(("data:", "attachment:")) or context.notebooks is None:
                continue
            elif not (context.notebooks / address).is_file():
                yield line, f"picture {address} is not in the folder of notebooks: add it or correct the path"


def _picture_addresses(text: str) -> Iterator[str]:
    yield from (match[2] for match in _MARKDOWN_PICTURE.finditer(text))
    for tag in _HTML_PICTURE.findall(text):
        yield from re.findall(r"\bsrc\s*=\s*[\"']([^\"']+)", tag, flags=re.IGNORECASE)


def _prose(lesson: Lesson) -> Iterator[tuple[int, str]]:
    """All lines of the markdown cells outside fenced code, with their lines in the file."""
    for cell in lesson.cells:
        fenced = False
        for index, text in enumerate(cell.source.split("\n") if cell.kind == "markdown" else []):
            if text.lstrip().startswith(("```", "~~~")):
                fenced = not fenced
            elif not fenced:
                yield cell.line_of(index), text


def _headings(lesson: Lesson) -> Iterator[tuple[int, int, str]]:
    """(line in the file, level, text) of every heading."""
    for line, text in _prose(lesson):
        if match := _HEADING.fullmatch(text.rstrip()):
            yield line, len(match[1]), match[2]


RULES = (
    Rule("title", title),
    Rule("recap", recap),
    Rule("further-reading", further_reading),
    Rule("alt-text", alt_text),
    Rule("pictures-at-hand", pictures_at_hand),
)
