"""`grader doctor --attack`: tries the attacks on this machine and says what came of each, as a table or JSON."""

from __future__ import annotations

import io
import json
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from grader.attacks.attack import Attack
from grader.attacks.routes import attacks as all_attacks
from grader.attacks.suite import Tried, ours, stock
from grader.errors import GraderError

__all__ = ["Result", "report_attacks", "try_attacks"]

Say = Callable[[str], None]


class Result:
    """What came of the attacks: by id with `grader grade`, and (unless left out) with nbgrader alone."""

    def __init__(self, attacks: list[Attack], ours: dict[str, Tried], stock: dict[str, Tried], *, whole: bool) -> None:
        self.attacks, self.ours, self.stock = attacks, ours, stock
        self.whole = whole
        """Whether the honest students kept all their points."""

    @property
    def gained(self) -> list[str]:
        """The attacks that gained points or did something else."""
        return [id for id, tried in self.ours.items() if tried.undeserved or tried.done]

    @property
    def limits(self) -> list[str]:
        """Those of them that docs/security.md says are not seen through: they gained points, and nothing else."""
        known = {attack.id for attack in self.attacks if attack.limit}
        return [id for id in self.gained if id in known and not self.ours[id].done]

    @property
    def broken(self) -> list[str]:
        """Those of them that break a promise."""
        return [id for id in self.gained if id not in self.limits]

    @property
    def held(self) -> bool:
        """Whether no attack gained anything but by what is not promised."""
        return self.whole and not self.broken

    def to_dict(self) -> dict[str, Any]:
        """What --json prints."""
        return {
            "held": self.held,
            "broken": self.broken,
            "known_limits": self.limits,
            "neighbours_unharmed": self.whole,
            "attacks": [
                {
                    "id": attack.id,
                    "route": attack.route,
                    "known_limit": attack.limit,
                    "ours": _told(self.ours[attack.id]),
                    "stock": _told(self.stock.get(attack.id)),
                }
                for attack in self.attacks
            ],
        }


def _told(tried: Tried | None) -> dict[str, Any] | None:
    if tried is None:
        return None
    return {
        "honest": tried.honest,
        "points": tried.points,
        "undeserved": tried.undeserved,
        "done": list(tried.done),
    }


def try_attacks(ids: Iterable[str] = (), *, with_stock: bool = True, say: Say = lambda line: None) -> Result:
    """Try the attacks with these ids, or all. GraderError for an id that is none."""
    known = all_attacks()
    if unknown := [id for id in ids if id not in known]:
        raise GraderError(f"there is no attack {unknown[0]!r}. Leave the ids out to try all: grader doctor --attack")
    chosen = [attack for id, attack in known.items() if id in (set(ids) or known)]
    with tempfile.TemporaryDirectory(prefix="attacks", ignore_cleanup_errors=True) as place:
        root = Path(place)
        root.chmod(0o755)  # the sandbox's user may go in, as it may into most class folders
        say(f"{len(chosen)} attacks, graded by grader grade ...")
        found, whole = ours(chosen, root / "ours")
        alone: dict[str, Tried] = {}
        if with_stock:
            say("the same, each graded by nbgrader alone; that takes minutes ...")
            alone = stock(chosen, root / "stock", say=say)
    return Result(chosen, found, alone, whole=whole)


def report_attacks(
    ids: Iterable[str] = (), *, with_stock: bool, as_json: bool, say: Say = lambda line: None
) -> tuple[str, bool]:
    """The result as text, and whether every promise was held."""
    result = try_attacks(tuple(ids), with_stock=with_stock, say=say)
    return (json.dumps(result.to_dict(), indent=2) if as_json else as_text(result)), result.held


def as_text(result: Result) -> str:
    """A table with a line for each attack, and below it the sum."""
    out = io.StringIO()
    table = Table("attack", "route", "honest", "nbgrader alone", "grader grade", title="Points and side effects")
    for attack in result.attacks:
        mine, alone = result.ours[attack.id], result.stock.get(attack.id)
        table.add_row(
            attack.id,
            attack.route,
            f"{mine.honest:g}",
            "not tried" if alone is None else _cell(alone),
            _cell(mine) + (" (not promised)" if attack.limit and mine.undeserved else ""),
        )
    Console(file=out, width=170).print(table)
    return out.getvalue() + "\n".join(_sums(result))


def _cell(tried: Tried) -> str:
    points = "not graded" if tried.points is None else f"{tried.points:g}"
    gain = f" (+{tried.undeserved:g})" if tried.undeserved else ""
    return "; ".join([points + gain, *tried.done])


def _sums(result: Result) -> list[str]:
    lines = []
    if result.stock:
        gained = sum(bool(tried.undeserved) for tried in result.stock.values())
        other = sum(bool(tried.done) for tried in result.stock.values())
        count = len(result.attacks)
        lines.append(f"nbgrader alone: {gained} of {count} attacks gain points, {other} do something else.")
    gained = sum(bool(tried.undeserved) for tried in result.ours.values())
    other = sum(bool(tried.done) for tried in result.ours.values())
    lines.append(
        f"grader grade: {gained - len(result.limits)} gain points, {other} do something else; "
        f"the honest students {'kept' if result.whole else 'LOST'} their points."
    )
    if result.broken:
        lines.append(f"Not held against: {', '.join(result.broken)}")
    if result.limits:
        lines.append(
            f"Not promised: {', '.join(result.limits)} gained points for a right gradient by forging how it was made "
            "(docs/security.md)."
        )
    return lines
