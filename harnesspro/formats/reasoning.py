"""Reasoning Gym's generators -> task records: which families, how hard, and how answers are spelt.

Pure. The generators themselves run elsewhere, from the package's own files (`reasoning_items`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal, InvalidOperation
from types import MappingProxyType
from typing import Any, Literal

from harnesspro.core.errors import IntegrityError

LEVELS = ("easy", "medium", "hard")
N_PER_LEVEL = 14
_FIRST_SEED, _SEED_STEP = 20_000, 1_000
_LONGEST_ANSWER = 60

Settings = tuple[Mapping[str, Any], Mapping[str, Any], Mapping[str, Any]]
"""Of a generator, by level."""


def _between(name: str, *bounds: tuple[int, int]) -> tuple[dict[str, Any], ...]:
    return tuple({f"min_{name}": low, f"max_{name}": high} for low, high in bounds)


def _both(*settings: Sequence[Mapping[str, Any]]) -> Settings:
    easy, medium, hard = (
        {k: v for part in level for k, v in part.items()} for level in zip(*settings, strict=True)
    )
    return easy, medium, hard


Spelling = Literal["number", "text"]

FAMILIES: Mapping[str, tuple[str, Spelling, Settings]] = MappingProxyType(
    {
        "basic_arithmetic": (
            "arithmetic",
            "number",
            _both(
                _between("terms", (2, 3), (3, 4), (5, 6)),
                _between("digits", (1, 2), (2, 3), (3, 4)),
                [{"operators": ["+", "-", "*"]}] * 3,  # its division rounds down without saying so
            ),
        ),
        "chain_sum": (
            "arithmetic",
            "number",
            _both(
                _between("terms", (2, 3), (4, 5), (6, 8)),
                _between("digits", (1, 2), (2, 3), (3, 4)),
            ),
        ),
        "decimal_chain_sum": (
            "arithmetic",
            "number",
            _both(
                _between("terms", (2, 2), (3, 4), (5, 6)),
                _between("digits", (1, 2), (1, 3), (2, 4)),
                _between("decimal_places", (1, 1), (1, 2), (2, 4)),
            ),
        ),
        "products": (
            "arithmetic",
            "number",
            _both(
                _between("terms", (2, 2), (2, 2), (3, 3)),
                _between("digits", (1, 2), (2, 3), (3, 4)),
            ),
        ),
        "gcd": (
            "arithmetic",
            "number",
            _both(
                _between("numbers", (2, 2), (2, 2), (3, 3)),
                _between("value", (2, 60), (50, 500), (200, 2000)),
            ),
        ),
        "lcm": (
            "arithmetic",
            "number",
            _both(
                _between("numbers", (2, 2), (2, 2), (3, 3)),
                _between("value", (2, 15), (10, 60), (10, 90)),
            ),
        ),
        "leg_counting": (
            "arithmetic",
            "number",
            _both(
                _between("animals", (1, 2), (3, 4), (5, 7)),
                _between("instances", (1, 5), (1, 9), (1, 15)),
            ),
        ),
        "count_bits": (
            "arithmetic",
            "number",
            _both(_between("n", (1, 63), (64, 4095), (1_000_000, 2_000_000_000))),
        ),
        "count_primes": (
            "algorithmic",
            "number",
            _both(_between("n", (1, 60), (50, 400), (300, 5000))),
        ),
        "letter_counting": (
            "algorithmic",
            "number",
            _both(_between("words", (2, 3), (5, 8), (12, 18))),
        ),
        "number_sequence": (
            "cognition",
            "number",
            _both(
                _between("terms", (5, 6), (5, 7), (6, 8)),
                [{"max_complexity": 1}, {"max_complexity": 2}, {"max_complexity": 3}],
            ),
        ),
        "aiw": (
            "logic",
            "number",
            _both([{"max_entities": 3}, {"max_entities": 6}, {"max_entities": 12}]),
        ),
        "base_conversion": (
            "algorithmic",
            "text",
            _both(
                _between("base", (2, 10), (2, 16), (2, 20)),
                _between("value", (2, 40), (40, 400), (400, 5000)),
            ),
        ),
        "spell_backward": (
            "algorithmic",
            "text",
            _both(_between("word_len", (3, 4), (5, 6), (8, 10))),
        ),
        "calendar_arithmetic": (
            "arithmetic",
            "text",
            _both(
                [
                    {"tasks": ["is_leap_year"]},
                    {"tasks": ["weekday_offset"], "offset_upper_bound": 10},
                    {"tasks": ["weekday_offset", "weekday_of_date"], "offset_upper_bound": 90},
                ]
            ),
        ),
        "syllogism": (
            "logic",
            "text",
            _both(
                [
                    {"allow_some_not": False, "inversion_probability": 0.0},
                    {"inversion_probability": 0.3},
                    {"inversion_probability": 0.6, "invalid_ratio": 0.5},
                ]
            ),
        ),
    }
)
"""Name -> its part of the package, how its answers are spelt, its settings for the three levels.

Chosen for answers that have one spelling, for generators that need the standard library alone, and
for items that do not depend on the order of a set.
"""

MODULES: Mapping[str, str] = MappingProxyType(
    {"number_sequence": "number_sequences", "syllogism": "syllogisms"}
)
"""Where the module is not called as its family."""

DATA_FILES = ("in_the_year_2889.txt", "words3to10.txt")


def module_of(family: str) -> str:
    """The dotted name of a family's generator."""
    return f"reasoning_gym.{FAMILIES[family][0]}.{MODULES.get(family, family)}"


def plan(*, n: int = N_PER_LEVEL) -> dict[str, Any]:
    """What the generating program is asked: `n` distinct items of each family and level."""
    sets = [
        {"family": f"{family}/{level}", "dataset": family, "module": module_of(family), **settings}
        for family, (_, _, by_level) in FAMILIES.items()
        for level, settings in zip(
            LEVELS, ({"settings": dict(found)} for found in by_level), strict=True
        )
    ]
    seeded = [{**one, "seed": _FIRST_SEED + _SEED_STEP * place} for place, one in enumerate(sets)]
    return {"sets": seeded, "n": n}


def members() -> tuple[str, ...]:
    """The files of the package that the generators need, as they lie in its wheel."""
    modules = [module_of(family).replace(".", "/") + ".py" for family in FAMILIES]
    shared = ("dataset", "factory", "utils", "coaching/attributes", "coaching/base_curriculum")
    data = ("data/__init__.py", *(f"data/{name}" for name in DATA_FILES))
    own = (*(f"{name}.py" for name in shared), *data)
    return (*sorted(modules), *(f"reasoning_gym/{name}" for name in own))


def records(items: Any, *, n: int = N_PER_LEVEL) -> list[dict[str, Any]]:
    """The sealable records of what the program made.

    Raises:
        IntegrityError: not what was asked for.
    """
    wanted = [one["family"] for one in plan(n=n)["sets"] for _ in range(n)]
    if not isinstance(items, list) or [_family_of(item) for item in items] != wanted:
        raise IntegrityError("reasoning-gym", "not the items that were asked for")
    return [
        {
            "id": f"{item['family']}/{item['index']}",
            "family": item["family"],
            "input": {"request": item["question"].strip()},
            "gold": right_answer(item["family"], item["answer"]),
        }
        for item in items
    ]


def _family_of(item: Any) -> str | None:
    if not isinstance(item, dict) or not isinstance(item.get("index"), int):
        return None
    texts = (item.get("family"), item.get("question"), item.get("answer"))
    return texts[0] if all(isinstance(text, str) for text in texts) else None


def right_answer(family: str, answer: str) -> str:
    """The one spelling of a right answer: numbers plain, texts without outer space.

    Raises:
        IntegrityError: a family of numbers gave none, or the answer is long or empty.
    """
    spelt = answer.strip()
    if FAMILIES[family.partition("/")[0]][1] == "number":
        spelt = plain_number(spelt)
    if not spelt or len(spelt) > _LONGEST_ANSWER:
        raise IntegrityError(f"reasoning-gym {family}", f"an answer {answer[:80]!r}")
    return spelt


def plain_number(text: str) -> str:
    """Digits without exponent, leading or trailing zeros; `""` where the text is no number."""
    try:
        number = Decimal(text)
    except InvalidOperation:
        return ""
    if not number.is_finite() or abs(number.adjusted()) > _LONGEST_ANSWER:
        return ""
    written = f"{number:f}"
    written = written.rstrip("0").rstrip(".") if "." in written else written
    return "0" if number == 0 else written.removeprefix("+")
