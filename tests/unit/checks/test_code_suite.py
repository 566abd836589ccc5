"""What running an answer says of it; each answer runs in a process of its own."""

from collections.abc import Iterator
from contextlib import closing

import pytest

from harnesspro.checks.code_caller import Call, Lab, Nursery
from harnesspro.checks.code_program import check_program, child_program
from harnesspro.checks.code_suite import CHECKS, Bench, behaviour
from harnesspro.checks.code_task import asked_of

HEAD = 'def total(xs: list[int]) -> int:\n    """Return the sum of the numbers.\n\n'
PROMPT = HEAD + '    >>> total([1, 2])\n    3\n    >>> total([])\n    0\n    """\n'
RIGHT = "def total(xs):\n    return sum(xs)"
CODE = "def total(xs):\n    return 0\n\ndef twice(n: int) -> int:\n    return 2 * n\n"


NURSERY = Nursery(child_program())
"""Begun by the first test that needs it."""


@pytest.fixture(scope="module", autouse=True)
def _nothing_is_left() -> Iterator[None]:
    yield
    NURSERY.end()


class Ended(Bench):
    """A bench that `closing` ends."""

    close = Bench.end


def bench(answer, prompt=PROMPT, **fields):
    asked = asked_of({"prompt": prompt, **fields})
    assert asked is not None
    return closing(Ended(asked, answer, nursery=NURSERY))


def said(name, answer, prompt=PROMPT, **fields):
    """The share a check gives an answer."""
    with bench(answer, prompt, **fields) as found:
        return CHECKS[name][1](found)


def acts(answer, prompt=PROMPT):
    with bench(answer, prompt) as found:
        return behaviour(found)


SAID = [
    ("examples_hold", RIGHT, 1.0),
    ("examples_hold", "def total(xs):\n    return max(xs, default=0)", 0.5),
    ("examples_hold", "def total(xs):\n    raise ValueError", 0.0),
    ("examples_hold", "def other(xs):\n    return 3", 0.0),
    ("returns_its_type", RIGHT, 1.0),
    ("returns_its_type", "def total(xs):\n    return str(sum(xs))", 0.0),
    ("returns_its_type", "def total(xs):\n    return None", 0.0),
    ("returns_its_type", "import nowhere\n" + RIGHT, None),
    ("gives_the_same_twice", RIGHT, 1.0),
    ("gives_the_same_twice", "import random\ndef total(xs):\n    return random.random()", 0.0),
    ("gives_the_same_twice", "def total(xs):\n    return list(set('abcdef'))", 0.0),
    ("keeps_its_arguments", RIGHT, 1.0),
    ("keeps_its_arguments", "def total(xs):\n    xs.append(1)\n    return sum(xs) - 1", 0.0),
    ("takes_the_inputs_shown", RIGHT, 1.0),
    ("takes_the_inputs_shown", "def total(xs):\n    return xs[0] + sum(xs[1:])", 0.5),
    ("answers_some_input", RIGHT, 1.0),
    ("answers_some_input", "def total(xs):\n    return nowhere", 0.0),
    ("keeps_its_words", RIGHT, 1.0),
    ("keeps_its_words", "def total(xs):\n    return sum(xs[1:])", 0.0),
    ("still_works", RIGHT, None),
]


@pytest.mark.parametrize(("name", "answer", "share"), SAID)
def test_what_a_check_says(name, answer, share):
    assert said(name, answer) == share


def test_a_check_without_anything_to_go_by_is_silent():
    silent = "def f(x):\n    '''Do what is right.'''"
    names = ("examples_hold", "returns_its_type", "takes_the_inputs_shown", "keeps_its_words")
    assert {said(name, "def f(x):\n    return x", silent) for name in names} == {None}


def test_an_example_that_raises_is_kept_where_the_answer_raises_it():
    prompt = "def f(n: int):\n    '''\n    >>> f(1)\n    Traceback\n    KeyError: 1\n    '''"
    assert said("examples_hold", "def f(n):\n    return {}[n]", prompt) == 1.0
    assert said("examples_hold", "def f(n):\n    return n", prompt) == 0.0


@pytest.mark.parametrize(
    ("answer", "share"),
    [
        (CODE.replace("return 0", "return sum(xs)"), 1.0),
        (CODE.replace("return 0", "return sum(xs)").replace("2 * n", "n"), 0.5),
        (RIGHT, 0.5),
        (CODE.replace("return 0", "return sum(xs) + 1"), 0.5),
        ("not python at all", 0.0),
    ],
)
def test_mended_code_keeps_doing_what_it_did(answer, share):
    assert said("still_works", answer, code=CODE) == share


def test_the_program_is_one_text_that_fits_an_argument_of_a_command():
    compile(check_program(), "program", "exec")
    assert len(check_program().encode()) < 120_000


# --- behaviour ---------------------------------------------------------------------------------


def test_programs_that_give_the_same_on_every_input_behave_alike():
    loop = "def total(numbers):\n    n = 0\n    for x in numbers:\n        n += x\n    return n"
    as_float = "def total(xs):\n    print('!')\n    return float(sum(xs))"
    assert acts(RIGHT) == acts(loop) == acts(as_float)


@pytest.mark.parametrize(
    "other",
    [
        "def total(xs):\n    return sum(xs) + 1",
        "def total(xs):\n    return sum(xs[:-1]) + xs[-1]",
        "def total(xs):\n    return [sum(xs)]",
        "def total(xs):\n    xs.sort()\n    return sum(xs)",
        "import os\ndef total(xs):\n    return os._exit(0) if len(xs) > 5 else sum(xs)",
    ],
)
def test_programs_that_differ_on_some_input_behave_otherwise(other):
    found = acts(other)
    assert "key" in found
    assert found != acts(RIGHT)


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ("import random\ndef total(xs):\n    return random.random()", "differs from run to run"),
        ("import nowhere\n" + RIGHT, "does not load"),
        ("def other(xs):\n    return 1", "does not load"),
        ("def total():\n    return 1", "gave no value on any input"),
    ],
)
def test_what_has_no_behaviour_says_why(answer, why):
    assert acts(answer) == {"none": why}


def test_a_function_of_few_inputs_has_no_behaviour():
    few = "def f(flag: bool):\n    '''Words.'''"
    assert acts("def f(flag):\n    return flag", few) == {"none": "too few inputs"}


# --- calling -----------------------------------------------------------------------------------


def test_a_lost_process_is_begun_anew_and_the_rest_of_a_run_is_given_up_after_two():
    source = "import os\ndef f(n):\n    return os._exit(1) if n < 0 else n"
    lab = Lab(NURSERY, source=source, name="f", hash_seed=1)
    outcomes = lab.run([Call((n,), {}) for n in (1, -1, 2, -1, 3)])
    again = lab.run([Call((4,), {})])
    lab.end()
    lost = {"lost": "ended"}
    assert outcomes == [{"value": 1}, lost, {"value": 2}, lost, {"lost": "not tried"}]
    assert again == [{"value": 4}]


def test_a_call_may_compute_for_half_a_second_and_no_longer():
    source = "def f(n):\n    while n: pass\n    return n"
    lab = Lab(NURSERY, source=source, name="f", hash_seed=1)
    outcomes = lab.run([Call((0,), {}), Call((1,), {}), Call((0,), {})])
    lab.end()
    assert outcomes == [{"value": 0}, {"lost": "ended"}, {"value": 0}]


def test_names_given_by_name_arrive_and_every_exception_is_told_by_its_name():
    source = "def f(n, *, k):\n    raise SystemExit(n) if k else KeyboardInterrupt"
    lab = Lab(NURSERY, source=source, name="f", hash_seed=1)
    outcomes = lab.run([Call((1,), {"k": True}), Call((1,), {"k": False}), Call((1,), {})])
    lab.end()
    raised = [words["raised"] for words in outcomes]
    assert raised == ["SystemExit", "KeyboardInterrupt", "TypeError"]


def test_a_nursery_that_an_answer_killed_is_begun_anew():
    nursery = Nursery(child_program())
    source = "import os\ndef f(n):\n    os.kill(os.getppid(), 9)\n    return n"
    outcomes = []
    for _ in range(2):
        lab = Lab(nursery, source=source, name="f", hash_seed=1)
        outcomes += lab.run([Call((3,), {})])
        lab.end()
    nursery.end()
    assert outcomes == [{"value": 3}] * 2


def test_processes_differ_in_the_order_of_their_sets_and_share_no_module():
    """What one answer changes in a module the next does not see."""
    source = "import math\ndef f(n):\n    math.seen = getattr(math, 'seen', 0) + 1\n"
    source += "    return [math.seen, list({'a', 'b', 'c', 'd', 'e'})]"
    found = []
    for hash_seed in (1, 1, 2):
        lab = Lab(NURSERY, source=source, name="f", hash_seed=hash_seed)
        found += lab.run([Call((3,), {})])
        lab.end()
    first, again, other = ((words["value"][1][0], words["value"][1][1]) for words in found)
    assert first == again
    assert first != other
    assert first[0] == other[0] == 1
