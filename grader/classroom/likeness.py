"""Answers that are alike beyond what the exercise explains: a hint for a person to look, never a verdict.

When a submission is graded, each answer leaves a few marks: hashes of its form (names, white space, comments and
docstrings taken out), of its text, of its runs of tokens and of comments of its own. For the report those that few of
the class share are looked up, so the work grows with the class and not with its square. Short answers are alike by
themselves: a mark counts the more, the fewer have it, and nothing that an eighth of the class has or the lesson gave.
"""

from __future__ import annotations

import ast
import hashlib
import io
import keyword
import math
import tokenize
import warnings
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations

__all__ = ["Alike", "alike", "marks"]

LONGEST = 8_000  # characters: longer cells are no answers to these exercises
RUN = 8  # tokens in a row that make one mark
WINDOW = 6  # of so many runs that follow each other, one is kept
MOST_RUNS = 40
COMMENT = 12  # characters of a comment that is worth keeping
HOLDERS = 8  # a mark that more students share says nothing about two of them
NEAR = 0.6  # share of the runs that two answers must have in common to be near
SHOWN = 20
LEFT_OUT = {tokenize.COMMENT, tokenize.NL, tokenize.ENCODING, tokenize.ENDMARKER}


@dataclass(frozen=True)
class Alike:
    """Two students whose answers are alike.

    exercises   how ("the same to the letter", "the same but for names", "nearly the same", "the same comment")
                -> the exercises in which they are
    comments    comments that both have and the lesson does not
    bits        how much it is: each bit halves the chance that it came about by itself
    """

    students: tuple[str, str]
    exercises: dict[str, list[str]]
    comments: int
    bits: float


# ---- marks, when an answer is graded ---------------------------------------------------------------------------------


@lru_cache(maxsize=2000)
def marks(source: str, given: str) -> tuple[str, ...]:
    """The marks of an answer, `given` being the cell as the lesson gave it; none where nothing was written."""
    if len(source) > LONGEST or source.strip() == given.strip():
        return ()
    tokens, comments = _tokens(source)
    known, familiar = _given(given)
    own = [run for run in _runs(tokens) if run not in known]
    if not own:
        return ()
    words = [f"c{_hash(text)}" for text in dict.fromkeys(comments) if text not in familiar and len(text) >= COMMENT]
    runs = list(dict.fromkeys(f"r{run}" for run in _kept(own)))[:MOST_RUNS]
    return (f"t{_hash(_letters(source))}", f"f{_hash(_form(source) or ' '.join(tokens))}", *words[:5], *runs)


@lru_cache(maxsize=200)
def _given(source: str) -> tuple[frozenset[str], frozenset[str]]:
    tokens, comments = _tokens(source)
    return frozenset(_runs(tokens)), frozenset(comments)


def _tokens(source: str) -> tuple[list[str], list[str]]:
    """The tokens with all names of its own alike, and the comments; what does not parse is taken as far as it goes."""
    found: list[str] = []
    comments: list[str] = []
    called: dict[str, str] = {}
    before = ""
    try:
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            if token.type == tokenize.COMMENT:
                comments.append(" ".join(token.string.lstrip("# ").lower().split()))
            elif token.type in (tokenize.INDENT, tokenize.DEDENT, tokenize.NEWLINE):
                found.append(tokenize.tok_name[token.type])
            elif token.type not in LEFT_OUT:
                own = token.type == tokenize.NAME and before != "." and token.string not in KEYWORDS
                found.append(called.setdefault(token.string, f"n{len(called)}") if own else token.string)
                before = token.string
    except (tokenize.TokenError, SyntaxError):
        pass
    return found, comments


KEYWORDS = frozenset([*keyword.kwlist, "torch", "self", "cls", "ctx", "staticmethod", "Function"])


def _runs(tokens: list[str]) -> list[str]:
    return [_hash("\0".join(tokens[i : i + RUN])) for i in range(max(1, len(tokens) - RUN + 1))] if tokens else []


def _kept(runs: list[str]) -> Iterator[str]:
    """The least of each window (winnowing): the same piece of code gives the same marks wherever it stands."""
    for start in range(max(1, len(runs) - WINDOW + 1)):
        yield min(runs[start : start + WINDOW])


def _form(source: str) -> str:
    """The syntax tree with names in the order in which they come, without docstrings and annotations; "" if none."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.dump(_Renamed().visit(ast.parse(source)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ""


class _Renamed(ast.NodeTransformer):
    def __init__(self) -> None:
        self.called: dict[str, str] = {}

    def _new(self, name: str) -> str:
        return name if name in KEYWORDS else self.called.setdefault(name, f"n{len(self.called)}")

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.Name(self._new(node.id), node.ctx)

    def visit_arg(self, node: ast.arg) -> ast.AST:
        return ast.arg(self._new(node.arg))

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        return None if isinstance(node.value, ast.Constant) else self.generic_visit(node)


def _letters(source: str) -> str:
    return "\n".join(line.rstrip() for line in source.strip().splitlines() if line.strip())


def _hash(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()


# ---- pairs, in the report --------------------------------------------------------------------------------------------


@dataclass
class _Shared:
    """What two students share in one exercise."""

    whole: float = 0.0
    how: str = ""
    runs: int = 0
    rarity: float = 0.0
    comments: int = 0
    words: float = 0.0


def alike(answers: Iterable[tuple[str, str, Mapping[str, Sequence[str]]]]) -> list[Alike]:
    """The pairs of students that are more alike than any two would be by chance, most alike first; at most 20.

    answers: student, lesson, and by exercise the marks of each answer, for every submission.
    """
    marked: dict[str, dict[str, Sequence[str]]] = defaultdict(dict)  # exercise -> student -> marks
    lessons: dict[str, set[str]] = defaultdict(set)
    answered: dict[str, set[str]] = defaultdict(set)
    for student, lesson, each in answers:
        for exercise, found in each.items():
            if found:
                marked[exercise][student] = found
                lessons[lesson].add(exercise)
                answered[student].add(exercise)
    pairs: dict[tuple[str, str], dict[str, _Shared]] = defaultdict(dict)
    for exercise, of_students in marked.items():
        for pair, shared in _in_exercise(of_students):
            pairs[pair][exercise] = shared
    scopes = [set(marked), *(lessons.values() if len(lessons) > 1 else ())]  # all of them, or one lesson copied
    chance = math.log2(max(1, len(scopes) * len(answered) * (len(answered) - 1) / 2))  # one pair in all reaches that
    found_alike = []
    for pair, in_common in pairs.items():
        both = answered[pair[0]] & answered[pair[1]]
        bits = max(_bits(in_common, both & scope) for scope in scopes)
        if bits > chance:
            found_alike.append(_described(pair, in_common, bits))
    return sorted(found_alike, key=lambda a: (-a.bits, a.students))[:SHOWN]


def _bits(shared: Mapping[str, _Shared], scope: set[str]) -> float:
    """How much two students share in some exercises, less what it counts that these could be any of `scope`."""
    found = [each for exercise, each in shared.items() if exercise in scope]
    return sum(each.whole + each.words for each in found) - math.log2(math.comb(len(scope), len(found)))


def _described(pair: tuple[str, str], each: Mapping[str, _Shared], bits: float) -> Alike:
    how: dict[str, list[str]] = defaultdict(list)
    for exercise, shared in each.items():
        how[shared.how or "the same comment"].append(exercise)
    return Alike(pair, dict(how), sum(shared.comments for shared in each.values()), bits)


def _in_exercise(marked: Mapping[str, Sequence[str]]) -> Iterator[tuple[tuple[str, str], _Shared]]:
    holders: dict[str, list[str]] = defaultdict(list)
    for student, found in marked.items():
        for mark in found:
            holders[mark].append(student)
    shared: dict[tuple[str, str], _Shared] = defaultdict(_Shared)
    limit = min(HOLDERS, max(2, len(marked) // 8))
    for mark, students in holders.items():
        if 2 <= len(students) <= limit:
            bits = math.log2(len(marked) / len(students))
            for pair in combinations(sorted(students), 2):
                _add(shared[pair], mark[0], bits)
    for pair, each in shared.items():
        most = max(sum(mark[0] == "r" for mark in marked[student]) for student in pair)
        if not each.whole and each.runs >= NEAR * most and each.runs > 2:
            each.whole, each.how = each.rarity / most, "nearly the same"
        if each.whole or each.words:
            yield pair, each


def _add(shared: _Shared, kind: str, bits: float) -> None:
    if kind == "c":
        shared.comments += 1
        shared.words = max(shared.words, bits)
    elif kind == "r":
        shared.runs += 1
        shared.rarity += bits
    elif bits > shared.whole or kind == "t":
        shared.whole = max(bits, shared.whole)
        shared.how = "the same to the letter" if kind == "t" or "letter" in shared.how else "the same but for names"
