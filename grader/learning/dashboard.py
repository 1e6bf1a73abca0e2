"""How progress looks: the dashboard of all lessons and the strip of one, as HTML and as text.

State is told by a sign and a word, colour only repeats it. Everything takes the page's own text colour, so it
reads on light and dark pages, and wraps in a narrow one.
"""

from __future__ import annotations

from collections.abc import Sequence

from grader.exercise import Exercise
from grader.learning.card import Card, inline, note_html
from grader.learning.standing import Standing

__all__ = ["MARK", "dashboard", "status", "strip"]

Lessons = dict[str, list[Exercise]]
States = dict[str, Standing]

MARK = {"passed": "✓", "tried": "○", "not started": "·"}
_TONE = {"passed": "#2d8f57", "tried": "#d1660a", "not started": "rgba(128,128,128,.45)"}
_GREY = "rgba(128,128,128,.25)"


def status(exercise: Exercise, state: Standing, *, full: bool = True) -> str:
    """The state in words: "tried 3 times, last mistake: ..."; with `full` the mistake's own sentence too."""
    parts = [state.word]
    if state.tries and not state.passed:
        parts[0] += " once" if state.tries == 1 else f" {state.tries} times"
        if state.diagnosis:
            sentence = exercise.sentence(state.diagnosis) if full else ""
            parts.append(f"last mistake: `{state.diagnosis}`" + (f" ({sentence.rstrip('.')})" if sentence else ""))
    if state.hints and not state.passed:
        parts.append(f"{state.hints} of {len(exercise.hints)} hints")
    if state.solution:
        parts.append("solution seen")
    return ", ".join(parts)


def dashboard(lessons: Lessons, states: States, following: Exercise | None, notes: Sequence[str] = ()) -> Card:
    """All lessons, each with a bar and its exercises; `following` is what to do next, None when all is done."""
    members = [exercise for own in lessons.values() for exercise in own]
    got, total = sum(_of(states, e).points for e in members), sum(e.points for e in members)
    done = sum(_of(states, e).passed for e in members)
    summary = f"{done} of {len(members)} exercises passed, {got:g} of {total} points"
    advice = _advice(following, states)
    lines, blocks = [summary, advice.replace("`", "")], []
    for lesson, own in lessons.items():
        lines += ["", f"{lesson}: {_passed(own, states)} of {len(own)} passed"]
        lines += [_line(exercise, _of(states, exercise)) for exercise in own]
        blocks.append(_lesson(lesson, own, states, opened=following is not None and following.lesson == lesson))
    head = f'<strong>{summary}</strong><p style="margin:.3em 0 .5em">{inline(advice)}</p>'
    return Card(
        text="\n".join([*lines, *(["", *notes] if notes else [])]),
        html=f'<div style="max-width:52em">{head}{"".join(blocks)}{note_html(notes)}</div>',
    )


def strip(lesson: str, own: list[Exercise], states: States) -> Card:
    """One lesson in a line or two: its bar, a sign for each exercise, what to do next in it."""
    passed = f"{_passed(own, states)} of {len(own)} passed"
    following = next((exercise for exercise in own if not _of(states, exercise).passed), None)
    advice = f"Next: `{following.id}`" if following else "This lesson is done."
    chips = "".join(_chip(exercise, _of(states, exercise)) for exercise in own)
    signs = "  ".join(f"{MARK[_of(states, e).word]} {e.id}" for e in own)
    row = "display:flex;flex-wrap:wrap;align-items:center;gap:.2em .9em"
    return Card(
        text=f"{lesson}: {passed}   {signs}   {advice.replace('`', '')}".rstrip(),
        html=f'<div style="max-width:60em;font-size:95%"><div style="{row}">{_bar(own, states)}'
        f"<span>{passed}</span><span>{inline(advice)}</span></div>"
        f'<div style="{row};margin-top:.25em">{chips}</div></div>',
    )


# ---- pieces ----------------------------------------------------------------------------------------------------------


def _of(states: States, exercise: Exercise) -> Standing:
    return states.get(exercise.id, Standing())


def _passed(own: list[Exercise], states: States) -> int:
    return sum(_of(states, exercise).passed for exercise in own)


def _advice(following: Exercise | None, states: States) -> str:
    if following is None:
        return "Every exercise is passed. Well done."
    if _of(states, following).tries:
        return f'Next: `{following.id}` in {following.lesson}, which you have begun. Stuck? `hint("{following.id}")`'
    return f"Next: `{following.id}` in {following.lesson}, {following.title[0].lower()}{following.title[1:]}"


def _line(exercise: Exercise, state: Standing) -> str:
    points = f"{state.points:g} / {exercise.points}"
    words = status(exercise, state, full=False).replace("`", "")
    return f"  {MARK[state.word]} {exercise.id:<18} {points:>8} points   {words}"


def _bar(own: list[Exercise], states: States) -> str:
    """A bar of as many pieces as there are exercises, the passed ones filled first. The numbers stand beside it."""
    words = sorted((_of(states, exercise).word for exercise in own), key=list(MARK).index)
    pieces = "".join(
        f'<span style="flex:1;background:{_TONE[word] if word != "not started" else _GREY}"></span>' for word in words
    )
    box = "display:flex;gap:2px;width:9em;height:.55em;border-radius:.3em;overflow:hidden;flex:none"
    return f'<span aria-hidden="true" style="{box}">{pieces}</span>'


def _lesson(lesson: str, own: list[Exercise], states: States, *, opened: bool) -> str:
    got, total = sum(_of(states, e).points for e in own), sum(e.points for e in own)
    numbers = f"{_passed(own, states)} of {len(own)} passed, {got:g} of {total} points"
    row = "display:inline-flex;flex-wrap:wrap;align-items:center;gap:.1em .9em;vertical-align:top;max-width:92%"
    head = (
        f'<span style="{row}"><strong style="min-width:13em">{inline(lesson)}</strong>{_bar(own, states)}'
        f"<span>{numbers}</span></span>"
    )
    items = "".join(_item(exercise, _of(states, exercise)) for exercise in own)
    return (
        f'<details{" open" if opened else ""} style="margin:.25em 0"><summary style="cursor:pointer">{head}</summary>'
        f'<ul style="list-style:none;padding:0;margin:.2em 0 .5em 1.2em">{items}</ul></details>'
    )


def _item(exercise: Exercise, state: Standing) -> str:
    row = "display:flex;flex-wrap:wrap;gap:0 .8em;margin:.15em 0"
    words = f"{state.points:g} of {exercise.points} points, {status(exercise, state)}"
    return (
        f'<li style="{row}">{_sign(state.word)}<span style="min-width:9.5em"><code>{inline(exercise.id)}</code></span>'
        f'<span style="flex:1 1 16em">{inline(exercise.title)}<br>'
        f'<span style="font-size:90%;opacity:.85">{inline(words)}</span></span></li>'
    )


def _sign(word: str) -> str:
    colour = "inherit" if word == "not started" else _TONE[word]
    return f'<strong aria-hidden="true" style="width:1.1em;text-align:center;color:{colour}">{MARK[word]}</strong>'


def _chip(exercise: Exercise, state: Standing) -> str:
    """A sign and the exercise's name; the state in words for those who hear the page or point at it."""
    unseen = "position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)"
    return (
        f'<span style="white-space:nowrap;position:relative" title="{state.word}">{_sign(state.word)}&nbsp;'
        f'<code>{inline(exercise.id)}</code><span style="{unseen}">{state.word}</span></span>'
    )
