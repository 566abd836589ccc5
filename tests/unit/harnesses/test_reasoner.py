import importlib.util
import re
from types import ModuleType
from typing import Any

import pytest

from harnesspro import sdk
from harnesspro.core.records import Patch, Task
from harnesspro.formats.content import harness_path
from harnesspro.formats.native import apply_patch, load_harness, sdk_payload

FOLDER = harness_path("builtin:reasoner")
SUM, GCD, LOGIC = (
    "Calculate 31 * -89 - -8.",
    "Find the Greatest Common Divisor (GCD) of these numbers: 641, 595.",
    "Sarah has 5 sisters and she also has 3 brothers. How many sisters does Rob have?",
)


def _module(path: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        f"reasoner_{path[:-3].replace('/', '_')}", FOLDER / path
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


SOLVER = _module("solver.py")
TOOLS = {name: _module(f"tools/{name}.py") for name in ("calculator", "python")}
calculator, python = TOOLS["calculator"].calculator, TOOLS["python"].python


def run(request: str, replies: list[str], **knobs: Any) -> tuple[Any, list[Any]]:
    """The answer (None where malformed) and the requests made; one too many fails the test."""
    harness = load_harness(FOLDER)
    patch = Patch(
        parent_id=harness.harness_id, knobs=knobs, direction="knobs", proposer="t", summary="s"
    )
    left, sent = list(replies), []

    def send(body: Any) -> Any:
        assert left, f"no reply is left for {body}"
        sent.append(body)
        message = {"content": left.pop(0)}
        return {"choices": [{"message": message, "finish_reason": "stop"}]}

    task = Task(task_id="t", family="any/easy", input={"request": request})
    payload = sdk_payload(apply_patch(harness, patch), task)
    result = sdk.run_trial(payload, send, solve=SOLVER.solve, tools=TOOLS)
    assert result["outcome"] in ("answered", "malformed"), result["fault"]
    assert not left, f"{len(left)} replies were not asked for"
    return result.get("answer"), sent


def block(code: str) -> str:
    return f"Like so:\n```python\n{code}\n```\nDone."


# --- which way to work ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("request_", "tool"),
    [
        (SUM, "calculator"),
        ("State the final answer to the following arithmetic problem: 0.9 + 6.6 =", "calculator"),
        ("Calculate -( 47 + 96 ) + 17.", "calculator"),
        ("Now, how many legs are there in total if you have 3 spiders?", "calculator"),
        (GCD, "python"),
        ('How many times does the letter "f" appear in the text: "of man"?', "python"),
        ("Now, convert the base-11 number 201 to base-10", "python"),
        ("Is 1996 a leap year? Answer with Yes or No.", "python"),
        (LOGIC, "none"),
        ("-6, -5, -4, -3, -2, -1, ?", "none"),
        ("All bees are ants. Does it follow that: Some ants are bees? (Answer Yes or No)", "none"),
    ],
)
def test_the_text_alone_chooses_the_tool(request_, tool):
    replies = {
        "calculator": "Calculate: 1 + 1",
        "python": block("print(2)"),
        "none": "Answer: 2",
    }
    answer, (sent,) = run(request_, [replies[tool]], samples=1, finish="tool")
    assert answer == "2"
    asked = sent["messages"][-1]["content"]
    assert asked.endswith(f"\n{request_}")
    assert ("You have a calculator" in asked) == (tool == "calculator")
    assert ("You have a Python" in asked) == (tool == "python")


def test_a_knob_overrules_the_routing():
    assert run(SUM, ["Answer: -2751"], samples=1, tool="none")[0] == "-2751"
    answer, _ = run(LOGIC, [block("print(6)")], samples=1, tool="python", finish="tool")
    assert answer == "6"


def test_the_family_of_a_task_plays_no_part():
    text = "\n".join((FOLDER / path).read_text() for path in ("solver.py", "routing.yaml"))
    assert "family" not in text


# --- the vote ------------------------------------------------------------------------------------


def test_the_answer_most_replies_give_wins_however_it_is_spelt():
    replies = ["Answer: 5", "**Answer:** 1,206.0", "I think so.\nFinal answer: x = 1206 sisters"]
    assert run(LOGIC, replies)[0] == "1206"


def test_all_samples_are_the_same_request_byte_for_byte():
    _, sent = run(LOGIC, ["Answer: 6"] * 3)
    assert sent[0] == sent[1] == sent[2]
    assert {key: sent[0][key] for key in ("model", "temperature", "max_tokens")} == {
        "model": "solver",
        "temperature": 0.7,
        "max_tokens": 300,
    }


def test_a_vote_that_is_decided_can_stop():
    assert len(run(LOGIC, ["Answer: 6"] * 2, stop_when_agreed="yes")[1]) == 2
    assert len(run(LOGIC, ["Answer: 6", "Answer: 7", "Answer: 7"], stop_when_agreed="yes")[1]) == 3


def test_what_the_tool_gave_is_shown_to_the_model_which_words_the_answer():
    replies = [
        "Calculate: 2 + 2",
        "Calculate: 31 * -89 - -8",
        "Calculate: 31*-89+8 =",
        "Answer: -2751",
    ]
    answer, sent = run(SUM, replies)
    assert answer == "-2751"
    worked, told = sent[3]["messages"][-2:]
    assert (worked["role"], worked["content"]) == ("assistant", replies[1])
    assert told["content"].startswith("It gave: -2751")


def test_a_result_the_model_does_not_word_stands_as_it_is():
    worded = "The sum can be worked out in several ways,\nof which I like the second."
    assert run(SUM, ["Calculate: 2 + 2"] * 3 + [worded])[0] == "4"


def test_a_retry_shows_the_reply_and_what_was_wrong_with_it():
    bad = block("print(greatest(641, 595))")
    answer, sent = run(GCD, [bad, block("print(1)")], samples=1, finish="tool")
    assert answer == "1"
    assert sent[1]["messages"][-2]["content"] == bad
    assert "NameError: name 'greatest' is not defined" in sent[1]["messages"][-1]["content"]


def test_nothing_readable_at_all_is_malformed():
    rambling = "Let me think about\nthis for a while."
    assert run(LOGIC, [rambling] * 4)[0] is None
    assert run(LOGIC, [rambling] * 3, retries=0)[0] is None


def test_the_examples_show_steps_or_none():
    shown, none = (
        run(LOGIC, ["6"], samples=1, steps=steps)[1][0]["messages"] for steps in ("shown", "none")
    )
    roles = ["system", "user", "assistant", "user"]
    assert [m["role"] for m in shown] == [m["role"] for m in none] == roles
    assert shown[2]["content"].startswith("Steps: Ann is older")
    assert none[2]["content"] == "Answer: Yes"


# --- reading -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("42.", "42"),
        ("$1,206$", "1206"),
        ("-0.50", "-0.5"),
        ("+7", "7"),
        ("-0", "0"),
        ("007", "7"),
        ("12 legs", "12"),
        ("4 + 4 = 8", "8"),
        ("45°", "45"),
        ("\\boxed{9}", "9"),
        ("1e5", "1e5"),
        ("c3", "c3"),
        ("`True`", "True"),
        ('"wet"', "wet"),
        ("3, 4", "3, 4"),
    ],
)
def test_an_answer_has_one_spelling(text, plain):
    assert SOLVER.spelt(text) == plain


@pytest.mark.parametrize(
    ("said", "expression"),
    [
        ("Steps: add.\nCalculate: 1 + 2", "1 + 2"),
        ("**Calculate:** `3 × (4 − 1)` = 9", "3 * (4 - 1)"),
        ("Calculate: 47 + 96\nCalculate: 143 - 17\nCalculate: 126", "143 - 17"),
        ("-47 - 96 + 17", "-47 - 96 + 17"),
        ("1196", ""),
        ("Calculate: -126", ""),
        ("", ""),
    ],
)
def test_an_expression_has_something_to_calculate(said, expression):
    assert SOLVER.expression(said) == expression


# --- the calculator ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("31 * -89 - -8", "-2751"),
        ("-( 47 + 96 ) + 17", "-126"),
        ("0.1 + 0.2", "0.3"),
        ("980.9907 - 744.2819", "236.7088"),
        ("7 / 3", "2.3333333333"),
        ("7 // 2 + 7 % 4", "6"),
        ("9637 * 5584 * 4202", "226122259616"),
        ("2 ** 10", "1024"),
        ("5 - 5.0", "0"),
    ],
)
def test_the_calculator_is_exact(expression, value):
    assert calculator(expression) == value


@pytest.mark.parametrize(
    "expression",
    [
        "1 / 0",
        "9 ** 9 ** 9",
        "10 ** 50",
        "x + 1",
        "print(1)",
        "1 +",
        "'a' * 9",
        "True",
        "1" * 500,
        "(" * 300,
    ],
)
def test_the_calculator_refuses_what_is_no_bounded_sum(expression):
    with pytest.raises(ValueError, match=r"\w"):
        calculator(expression)


# --- the small Python ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "printed"),
    [
        ("import math\nprint(math.gcd(641, 595))", "1"),
        ("from math import gcd\ngcd(12, 18)", "6"),
        ("print(bin(511025151).count('1'))", "23"),
        ("def back(word):\n    return word[::-1]\nprint(back('tew'))", "wet"),
        ("if __name__ == '__main__':\n    print('first')\n    print('last')", "last"),
        ("import datetime\nprint(datetime.date(2022, 5, 4).strftime('%A'))", "Wednesday"),
        ("from datetime import datetime\nprint(datetime.strptime('2022', '%Y').year)", "2022"),
        ("import calendar\nprint('Yes' if calendar.isleap(1996) else 'No')", "Yes"),
        ("n = 3\nn *= 4\nn **= 2\nprint(n << 1, n * 'a' if n < 0 else n)", "288 144"),
        ("from collections import Counter\nprint(Counter('abca')['a'])", "2"),
        ("print(sum(all(n % d for d in range(2, n)) for n in range(2, 100)))", "25"),
        ("import math\nprint(math.prod([2, 3, 7]))", "42"),
        ("print(f'{1 / 4:.2f}')", "0.25"),
    ],
)
def test_a_small_program_gives_its_last_line(code, printed):
    assert python(code) == printed


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("import os", "module os is not offered"),
        ("from calendar import sys", "ImportError|AttributeError"),
        ("import calendar\nprint(calendar.sys)", ".sys is not offered"),
        ("print(().__class__)", ".__class__ is not offered"),
        ("__builtins__", "__builtins__ is not offered"),
        ("g = (i for i in [1])\nprint(g.gi_frame)", ".gi_frame is not offered"),
        ("print('{0.__class__}'.format(1))", ".format is not offered"),
        ("import math\nmath.gcd = None", ".gcd is not offered"),
        ("open('x')", "NameError"),
        ("getattr(1, 'real')", "NameError"),
        ("try:\n    pass\nexcept:\n    pass", "Try is not offered"),
        ("match 1:\n    case int(__class__=c):\n        print(c)", "Match is not offered"),
        ("import math\nprint(math.prod(range(1, 10 ** 6)))", "product is too large"),
        ("while True:\n    pass", "runs too long"),
        ("print(9 ** 9 ** 9)", "power is too large"),
        ("x = 9\nx **= 10 ** 6", "power is too large"),
        ("print(pow(9, 10 ** 6))", "power is too large"),
        ("a = [2]\na[0] **= 9", "this assignment is not offered"),
        ("print(1 << 10 ** 9)", "shift is too large"),
        ("print('a' * 10 ** 9)", "too much of the same"),
        ("sum(range(10 ** 12))", "range is too long"),
        ("print('a' * 5000)", "prints too much"),
        ("x = 3", "printed nothing"),
        ("print(1 / 0)", "ZeroDivisionError"),
        ("def f(): return f()\nf()", "RecursionError"),
        ("print(", "SyntaxError"),
    ],
)
def test_what_is_not_offered_or_fails_is_told(code, said):
    with pytest.raises(ValueError, match=said):
        python(code)


# --- the whole -----------------------------------------------------------------------------------


def test_every_part_the_solver_asks_for_is_declared():
    parts = set(load_harness(FOLDER).manifest.parts)
    asked = set(re.findall(r'h\.(?:prompt|value)\("(\w+)"', (FOLDER / "solver.py").read_text()))
    assert asked | {"think", "calculate", "program"} <= parts
