"""The simulator's tasks: drawn fresh by seed, their truth a keyed hash of the nonce in the text.

The words around the nonce are filler; nothing but the hash knows which option is right. A probe
(a request that says which option is asked for) is a case too: its truth is what it says.
"""

from __future__ import annotations

import hmac
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

_KEY = b"harnesspro/sim/1"
_NONCE = re.compile(r"\bcase ([0-9a-f]{12})\b", re.IGNORECASE)
_ASKED = re.compile(r"\bone asked for here is: *([^.\n\"]+)", re.IGNORECASE)

FAMILIES = {
    "match": (0.5, "Which word belongs with them?"),
    "trace": (0.3, "Which word is left when they are followed in turn?"),
    "odd": (0.2, "Which word fits none of them?"),
}
"""Family -> its share of the tasks, and how it asks."""
HARDER = {"match": -0.05, "trace": 0.0, "odd": 0.08}
"""Family -> what it adds to the difficulty of each of its tasks."""
TAIL_FROM = 0.88
"""The share of tasks below the tail of difficulty; no skill reaches far into it."""

_WORDS = (
    "amber anvil apple arrow badge basil bench birch blade bloom brick brook cabin candle canoe "
    "cargo cedar chalk cider cliff cloud clover coast comet coral crane crown delta drum eagle "
    "ember fable ferry field flame flint flute forge fossil frost garnet glass globe grain grape "
    "grove harbor hazel heron honey ivory jewel kettle ladder lemon linen lotus lunar maple "
    "marble meadow melon metal mirror moss nickel north oasis ocean olive onyx orbit otter panel "
    "pearl pebble pepper piano pillar plaza plume polar poppy prism quartz quill raven reef "
    "ribbon ridge river robin ruby saddle sage satin shell silver slate solar spark spice spruce "
    "stone storm sugar summit sunset table teapot temple thorn tiger timber topaz torch tower "
    "trail tulip tunnel valley velvet violet wagon walnut water wheat willow window winter zinc"
)
OPTION_WORDS = tuple(_WORDS.split())
_NOTE_WORDS = (
    "alley apron attic axle bakery barge basket beacon bell bonnet boot bottle bowl bridge broom "
    "brush bucket button cable camera carpet cart cellar chain chair chest clock coat coin comb "
    "copper cork cotton crate cup curtain desk dial dish dock door drawer easel engine fan fence "
    "fiddle flag funnel gate glove hammer handle hinge hook horn hose ink jar jug kite knob lamp "
    "latch lever lid lock loom magnet map mast mill mitten mop nail needle net oar oven paddle "
    "paint pan paper pedal pen pin pipe plank plow pocket pot pulley pump quilt rail rake rope "
    "rudder rug sack sail scale scarf screw shelf shovel sieve sink sled soap sock spade spool "
    "spoon spring stamp stool stove strap string switch tape thread tile tongs tray valve vase "
    "vest wallet well wheel whistle wire wrench yarn"
)


def draw_tasks(seed: int, n: int) -> list[dict[str, Any]]:
    """`n` raw records `{"input", "family", "gold"}`; the same seed draws the same tasks.

    `input` is `{"question", "options", "answer_schema"}` with five options; `gold` is one of them.
    """
    draw = random.Random(f"harnesspro/sim/tasks/{seed}")  # noqa: S311 - a simulation, repeatable
    return [_record(draw) for _ in range(n)]


def _record(draw: random.Random) -> dict[str, Any]:
    nonce = f"{draw.getrandbits(48):012x}"
    family = family_of(nonce)
    notes, options = draw.sample(_NOTE_WORDS.split(), 9), draw.sample(OPTION_WORDS, 5)
    question = f"Case {nonce}. Notes: {', '.join(notes)}. {FAMILIES[family][1]}"
    return {
        "input": {"question": question, "options": options, "answer_schema": {"enum": options}},
        "family": family,
        "gold": true_option(nonce, options),
    }


@dataclass(frozen=True, slots=True)
class Case:
    """One question put to a simulated model, whose truth the simulator knows."""

    key: str
    """The nonce of a task; of a probe what it asks for and its options."""
    options: tuple[str, ...]
    right: str
    """Of an impossible probe what is asked for, which is none of the options."""
    family: str
    is_probe: bool = False

    def lure(self, salt: str = "") -> str:
        """The wrong option this case mostly tempts a mind of that salt into."""
        wrong = [option for option in self.options if option != self.right]
        return max(
            wrong,
            key=lambda option: (uniform("lure", *_of(salt), self.key, option), option),
            default=self.right,
        )

    def difficulty(self, salt: str = "") -> float:
        """The skill it takes; see `difficulty_at`."""
        return difficulty_at(uniform("difficulty", *_of(salt), self.key), self.family)


def case_in(text: str, options: Sequence[str]) -> Case | None:
    """The last case a text names, or None: a probe where it says what is asked for, else a task."""
    asked, nonce = _ASKED.findall(text), nonce_in(text)
    if len(options) < 2:
        return None
    if asked:
        word = asked[-1].strip(" `'*")
        same = [option for option in options if option.casefold() == word.casefold()]
        right = (same or [word])[0]
        key = f"probe {right} of {', '.join(sorted(options))}"
        return Case(key, tuple(options), right, family_of(key), is_probe=True)
    if nonce is None:
        return None
    return Case(nonce, tuple(options), true_option(nonce, options), family_of(nonce))


def names_case(text: str) -> bool:
    """Whether a text names a task or a probe."""
    return nonce_in(text) is not None or _ASKED.search(text) is not None


def difficulty_at(level: float, family: str) -> float:
    """The difficulty at a level in [0, 1): uniform up to `TAIL_FROM`, then a heavy tail.

    The tail is TAIL_FROM + 0.03 (((1 - TAIL_FROM) / (1 - level))^2 - 1); the family's own is added.
    """
    if level > TAIL_FROM:
        level = TAIL_FROM + 0.03 * (((1 - TAIL_FROM) / (1 - level)) ** 2 - 1)
    return level + HARDER[family]


def _of(salt: str) -> tuple[str, ...]:
    return (salt,) if salt else ()


def nonce_in(text: str) -> str | None:
    """The nonce of the last case named in a text."""
    found = _NONCE.findall(text)
    return str(found[-1]).lower() if found else None


def family_of(nonce: str) -> str:
    """The family a nonce falls into."""
    level = uniform("family", nonce)
    for family, (share, _) in FAMILIES.items():
        if level < share:
            return family
        level -= share
    return "match"


def true_option(nonce: str, options: Sequence[str]) -> str:
    """The right option, whatever their order."""
    return max(options, key=lambda option: (uniform("truth", nonce, option), option))


def uniform(*labels: object) -> float:
    """A number in [0, 1) that depends on the labels alone."""
    text = "\0".join(map(str, labels)).encode()
    digest = hmac.digest(_KEY, text, "sha256")
    return int.from_bytes(digest[:6], "big") / (1 << 48)
