"""A report in a notebook: HTML that reads well with and without its style, and the picture of where it goes wrong.

Viewers differ in what they let through, so the picture is in two outputs, of which each viewer shows one:

    the HTML      holds it as <img> with alt text, one pixel large; the style makes it large in JupyterLab, Notebook 7
                  and nbconvert's pages. There a plain image output would be shown with no alt text.
    an image/png  after it, for the viewers that drop the style (GitHub, a notebook JupyterLab does not trust) or that
                  the style does not speak of (VS Code, the classic notebook). VS Code takes the alt text from the
                  text/plain beside it, nbconvert from the metadata. The style hides it where the first is large.

One selector decides both, so no viewer shows the picture twice or not at all.
"""

from __future__ import annotations

import base64
import contextlib
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from grader.report_text import SHOWN, parts

if TYPE_CHECKING:
    from grader.report import Finding, Report
    from grader.where.draw import Picture

__all__ = ["bundles", "html"]

_STYLE = (
    ".grader-report{border-left:4px solid var(--gr-tone);padding:.4em .9em;margin:.4em "
    "0;font-family:var(--jp-ui-font-family,system-ui,sans-serif);line-height:1.45;max-width:60em}"
    ".grader-report.ok{--gr-tone:#2e9e5b}.grader-report.no{--gr-tone:#c8731f}.grader-report.todo{--gr-tone:#7a8599}"
    ".grader-report b.gr-head{color:var(--gr-tone);font-size:1.05em}"
    ".grader-report ul{margin:.35em 0;padding-left:1.2em}.grader-report li{margin:.3em 0}"
    ".grader-report p{margin:.35em 0}.grader-report details{margin:.35em 0}"
    ".grader-report summary{cursor:pointer}.grader-report code{font-size:.92em}"
    ".grader-report pre{overflow-x:auto;padding:.4em .6em;background:rgba(128,128,128,.1);"
    "user-select:all;-webkit-user-select:all}"
    ".grader-report .gr-frame{overflow-x:auto}"
    ".grader-report .gr-why{border-radius:4px;background:rgba(128,128,128,.13);padding:.45em .7em;margin:.4em 0}"
    ".grader-report .gr-more{padding-left:1.2em;font-size:.95em}.grader-report .gr-small{opacity:.8;font-size:.92em}"
)
_LARGE = (
    ".jp-OutputArea-child .grader-report img.gr-picture{display:block;height:auto!important;margin:.4em 0;"
    "width:min(var(--gr-width),max(100%,30em))!important;max-width:none!important}"
    ".jp-OutputArea-child:has(.gr-picture)+.jp-OutputArea-child:has(.jp-RenderedImage){display:none}"
)

Bundle = tuple[dict[str, str], dict[str, Any]]


def bundles(report: Report) -> list[Bundle]:
    """What to display, in order: (data by MIME type, metadata). A picture that cannot be drawn is left out."""
    picture = _drawn(report)
    shown: list[Bundle] = [({"text/html": html(report, picture), "text/plain": report.text()}, {})]
    if picture is not None:
        size = {"alt": picture.words, "width": picture.width, "height": picture.height}
        shown.append(({"image/png": _base64(picture), "text/plain": picture.words}, {"image/png": size}))
    return shown


def _drawn(report: Report) -> Picture | None:
    if report.where is None:
        return None
    with contextlib.suppress(Exception):  # no matplotlib, a broken font: the words stand without the picture
        from grader.where.draw import picture

        return picture(report.where)
    return None


def _base64(picture: Picture) -> str:
    return base64.b64encode(picture.data).decode()


def html(report: Report, picture: Picture | None) -> str:
    """The report as an HTML fragment: the verdict, why, what failed, where, how to see it, what passed, what next."""
    kind = "todo" if not report.started else "ok" if report.passed else "no"
    mark = "…" if not report.started else "✓" if report.passed else "✗"
    style = _STYLE + (_LARGE if picture else "")
    inside = [f"<b class='gr-head'>{escape(mark)} {escape(report.headline())}</b>"]
    if report.why():
        inside.append(f"<p class='gr-why'>{_code(report.why())}</p>")
    if not report.started:
        text = "Replace the line that raises NotImplementedError by your answer, run that cell, then this one."
        inside.append(f"<p class='gr-small'>{text}</p>")
    else:
        inside += [_failed(report), _where(report, picture), _again(report.failed), _passed(report)]
    inside += [f"<p class='gr-small'>{_code(note)}</p>" for note in (*report.unjudged, *report.remarks)]
    if report.failed and report.started:
        inside.append(_stuck(report))
    return f"<style>{style}</style><div class='grader-report {kind}'>{''.join(inside)}</div>"


def _failed(report: Report) -> str:
    """The first failed checks in full, the others folded: where the mistake has a name already, all but one."""
    full = 1 if report.explanations else SHOWN
    shown, folded = report.failed[:full], report.failed[full:]
    text = f"<ul>{''.join(map(_finding, shown))}</ul>" if shown else ""
    if folded:
        others = "".join(map(_finding, folded))
        text += f"<details><summary>{len(folded)} more failed</summary><ul>{others}</ul></details>"
    return text


def _finding(finding: Finding) -> str:
    fact, *more = parts(finding)
    rest = "".join(f"<div class='gr-more'>{_code(text)}</div>" for text in more)
    return f"<li><code>{escape(finding.check)}</code>: {_code(fact)}{rest}</li>"


def _where(report: Report, picture: Picture | None) -> str:
    if report.where is None:
        return ""
    words = f"<p><b>Where.</b> {_code(report.where.words)}</p>"
    if picture is None:
        return words
    source = f"data:image/png;base64,{_base64(picture)}"
    alt = escape(picture.words, quote=True)
    size = f'width="1" height="1" style="--gr-width:{picture.width}px"'
    return f'{words}<div class="gr-frame"><img class="gr-picture" {size} alt="{alt}" src="{source}"></div>'


def _again(failed: Sequence[Finding]) -> str:
    if not failed or not failed[0].reproduction:
        return ""
    summary = f"<summary>See <code>{escape(failed[0].check)}</code> fail yourself</summary>"
    return f"<details>{summary}<pre>{escape(failed[0].reproduction)}</pre></details>"


def _passed(report: Report) -> str:
    """How many checks passed, with their names folded."""
    names = [f.check for f in report.findings if f.passed]
    said = f"{len(names)} of {len(report.findings)} checks passed"
    if not names:
        return f"<p class='gr-small'>{said}.</p>"
    listed = ", ".join(f"<code>{escape(name)}</code>" for name in names)
    return f"<details class='gr-small'><summary>{said}</summary><p>{listed}</p></details>"


def _stuck(report: Report) -> str:
    hint, explain = f'hint("{report.exercise}")', f'explain("{report.failed[0].check}")'
    return f"<p class='gr-small'>Stuck? <code>{escape(hint)}</code> · <code>{escape(explain)}</code></p>"


def _code(text: str) -> str:
    """Escaped text with `...` shown as code."""
    pieces = escape(text).split("`")
    return "".join(f"<code>{p}</code>" if i % 2 else p for i, p in enumerate(pieces))
