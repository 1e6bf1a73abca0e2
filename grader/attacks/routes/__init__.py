"""All attacks, a module for each kind."""

from __future__ import annotations

from grader.attacks.attack import Attack
from grader.attacks.routes import answers, checks, handed_in, notebook_shell, reach, shown

__all__ = ["attacks"]


def attacks() -> dict[str, Attack]:
    """Every attack by its id."""
    modules = (checks, notebook_shell, answers, handed_in, reach, shown)
    found = [attack for module in modules for attack in module.ATTACKS]
    assert len({attack.id for attack in found}) == len(found)
    return {attack.id: attack for attack in found}
