import importlib.util
import re
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harnesspro import sdk
from harnesspro.core.errors import ManifestError
from harnesspro.core.records import Patch, ReplaceFile, Task
from harnesspro.formats.content import harness_path
from harnesspro.formats.native import apply_patch, harness_from_files, load_harness, sdk_payload

FOLDER = harness_path("builtin:coder")
HARNESS = load_harness(FOLDER)
HEAD = 'def twice(n: int) -> int:\n    """Give back the number doubled'
EASY = f'{HEAD}.\n\n    >>> twice(2)\n    4\n    >>> twice(-1)\n    -2\n    """\n'
PLAIN = f'{HEAD}; nothing else.\n    """\n'
ADDS, DOUBLES, SQUARES = (f"def twice(n):\n    return {x}" for x in ("n + n", "2 * n", "n ** 2"))
PLAN = "1. Double it."
TESTS = "assert twice(0) == 0\nassert twice(2) == 4\nassert twice(3) == 6"


def _module(path: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        f"coder_{path[:-3].replace('/', '_')}", FOLDER / path
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


SOLVER = _module("solver.py")
TOOL = _module("tools/run_tests.py")


class Here:
    """The tool on drafts of these tests, which are harmless, without a process of its own."""

    @staticmethod
    def run_tests(code: str, tests: list[Any], seconds: float, result_chars: int) -> list[Any]:
        names: dict[str, Any] = {}
        exec(code, names)
        return [
            TOOL.one_test(call, expected, names, seconds=seconds, chars=result_chars)
            for call, expected in tests
        ]


def block(code: str) -> str:
    return f"It is simple.\n```python\n{code}\n```\nDone."


def run(
    prompt: str, replies: list[str], *, edits: tuple[Any, ...] = (), **knobs: Any
) -> tuple[Any, list[Any]]:
    """The answer (None where malformed) and the requests made; one too many fails the test."""
    patch = Patch(
        parent_id=HARNESS.harness_id,
        knobs=knobs,
        edits=edits,
        direction="knobs",
        proposer="t",
        summary="s",
    )
    left, sent = list(replies), []

    def send(body: Any) -> Any:
        assert left, f"no reply is left for {body}"
        sent.append(body)
        message = {"content": left.pop(0)}
        return {"choices": [{"message": message, "finish_reason": "stop"}]}

    task = Task(task_id="t", input={"prompt": prompt, "entry_point": "twice"})
    payload = sdk_payload(apply_patch(HARNESS, patch), task)
    result = sdk.run_trial(payload, send, solve=SOLVER.solve, tools={"run_tests": Here})
    assert result["outcome"] in ("answered", "malformed"), result["fault"]
    assert not left, f"{len(left)} replies were not asked for"
    return result.get("answer"), sent


ALONE: dict[str, Any] = {"plan": "never", "tests": "none", "samples": 1, "repair_rounds": 0}
SHOWN: dict[str, Any] = {"tests": "shown", "repair_rounds": 0}


# --- which way to work ---------------------------------------------------------------------------


def test_as_it_comes_it_plans_writes_tests_drafts_three_times_and_answers_with_what_passes():
    answer, sent = run(PLAIN, [PLAN, TESTS, block(ADDS), block(DOUBLES), block(ADDS)])
    assert answer == ADDS + "\n"
    assert [body["model"] for body in sent] == ["planner", "planner", "writer", "writer", "writer"]
    assert sent[2] == sent[3] == sent[4]
    assert f"Plan:\n{PLAN}" in sent[2]["messages"][-1]["content"]
    assert {key: sent[2][key] for key in ("temperature", "max_tokens")} == {
        "temperature": 0.7,
        "max_tokens": 600,
    }


def test_an_easy_task_passes_the_planning_by():
    _, sent = run(EASY, [TESTS, *[block(ADDS)] * 3])
    assert "Plan:" not in sent[1]["messages"][-1]["content"]
    assert len(sent) == 4


@pytest.mark.parametrize(("prompt", "wish", "n_calls"), [(EASY, "always", 2), (PLAIN, "never", 1)])
def test_a_knob_overrules_the_routing(prompt, wish, n_calls):
    replies = [PLAN, block(ADDS)][-n_calls:]
    assert len(run(prompt, replies, **{**ALONE, "plan": wish})[1]) == n_calls


def test_code_with_a_bug_is_mended_without_a_plan():
    prompt = f"This function has a bug. Give it back mended.\n\n{PLAIN}    return n"
    assert run(prompt, [TESTS, *[block(DOUBLES)] * 3])[0] == DOUBLES + "\n"


def test_the_family_of_a_task_plays_no_part():
    text = "\n".join((FOLDER / path).read_text() for path in ("solver.py", "routing.yaml"))
    assert "family" not in text


# --- tests and repair ----------------------------------------------------------------------------


def test_a_draft_that_fails_is_given_back_with_what_it_gave():
    answer, sent = run(EASY, [block(SQUARES), block(DOUBLES)], samples=1, tests="shown")
    assert answer == DOUBLES + "\n"
    said, told = sent[1]["messages"][-2:]
    assert said == {"role": "assistant", "content": block(SQUARES)}
    assert "- twice(-1) gave 1; expected -2" in told["content"]
    assert "twice(2)" not in told["content"]


def test_what_is_mended_for_the_worse_is_not_taken():
    worse = "def twice(n):\n    return 'no'"
    assert run(EASY, [block(SQUARES), block(worse)], samples=1, tests="shown")[0] == SQUARES + "\n"


def test_a_reply_without_the_function_is_given_back_too():
    answer, sent = run(PLAIN, ["I would double it.", block(ADDS)], **{**ALONE, "repair_rounds": 1})
    assert answer == ADDS + "\n"
    assert (
        "no Python code block that defines a function `twice`" in sent[1]["messages"][-1]["content"]
    )


def test_without_self_tests_nothing_is_mended():
    """What is emptied is unplugged, and what needs it rests; the examples shown still choose."""
    emptied = (ReplaceFile(path="prompts/self_tests.md", text="\n"),)
    replies = [block(SQUARES), block(DOUBLES), block(SQUARES)]
    answer, sent = run(EASY, replies, edits=emptied)
    assert answer == DOUBLES + "\n"
    assert len(sent) == 3


def test_repair_cannot_be_declared_without_what_it_needs():
    files = dict(HARNESS.files)
    files["harness.yaml"] = re.sub(r"  self_tests: .*\n", "", files["harness.yaml"])
    with pytest.raises(ManifestError, match=r"parts\.repair\.needs: self_tests"):
        harness_from_files(files, where="coder")


def test_tests_switched_off_run_nothing():
    tools = (FOLDER / "tools/tools.yaml").read_text().replace("enabled: true", "enabled: false")
    answer, sent = run(
        EASY,
        [block(SQUARES), block(DOUBLES), block(DOUBLES)],
        edits=(ReplaceFile(path="tools/tools.yaml", text=tools),),
    )
    assert (answer, len(sent)) == (DOUBLES + "\n", 3)


@pytest.mark.parametrize(
    ("line", "test"),
    [
        ("assert twice(2) == 4", ["twice(2)", "4"]),
        ("assert twice(n=2) == 4  # so be it", ["twice(n=2)", "4"]),
        ("assert twice(-1) == -2, 'negative'", ["twice(-1)", "-2"]),
        ("assert twice(2)", None),
        ("assert twice(x) == 4", None),
        ("assert twice(2) == twice(1) + 2", None),
        ("assert other(2) == 4", None),
        ("assert __import__('os').getcwd() == ''", None),
        ("assert twice(2) == 4 == 4", None),
        ("assert twice(", None),
        ("assert twice({[]: 1}) == 4", None),
    ],
)
def test_a_test_is_a_call_on_plain_values_and_a_plain_value(line, test):
    assert SOLVER.read_test(line, "twice") == ([test] if test else [])


def test_each_call_is_tried_once_and_the_docstring_has_the_first_word():
    _, sent = run(EASY, ["assert twice(2) == 5\nassert twice(2) == 6", block(DOUBLES)], samples=1)
    assert len(sent) == 2  # what the model expects of twice(2) would have failed it


# --- reading drafts ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "said",
    [
        block(ADDS),
        ADDS,
        f"```python\nprint('a test')\n```\n{block(ADDS)}",
        f"```\n{ADDS}\n```",
        f"```python\n{ADDS}",
        block(PLAIN) + block(ADDS),
    ],
)
def test_the_function_is_found_in_the_reply(said):
    assert run(PLAIN, [said], **ALONE)[0] == ADDS + "\n"


def test_a_body_that_goes_on_where_the_task_ends_is_put_behind_it():
    answer, _ = run(PLAIN, ["```python\n    return n + n\n```"], **ALONE)
    assert answer == f"{PLAIN.strip()}\n    return n + n\n"


@pytest.mark.parametrize("said", ["", "No.", block("def other(n):\n    return n"), block(PLAIN)])
def test_where_there_is_no_function_there_is_no_answer(said):
    assert run(PLAIN, [said], **ALONE)[0] is None


def test_code_alone_is_shown_by_an_example():
    _, (sent,) = run(PLAIN, [block(ADDS)], **{**ALONE, "steps": "none"})
    assert [m["role"] for m in sent["messages"]] == ["system", "user", "assistant", "user"]
    assert "Explain" not in sent["messages"][-1]["content"]


def test_a_line_of_dashes_in_a_task_is_no_turn():
    dashed = PLAIN.replace("; nothing", "\n---\nnothing")
    _, (sent,) = run(dashed, [block(ADDS)], **ALONE)
    assert [m["role"] for m in sent["messages"]] == ["system", "user"]


# --- the vote ------------------------------------------------------------------------------------


def test_what_most_drafts_do_wins_however_it_is_written():
    replies = [block(SQUARES), block(ADDS), block(DOUBLES)]
    alike = PLAIN.replace("; nothing else.", ".\n    >>> twice(7)\n    15")
    assert run(alike, replies, **SHOWN)[0] == ADDS + "\n"


def test_passing_more_tests_counts_before_being_many():
    assert run(EASY, [block(SQUARES), block(SQUARES), block(ADDS)], **SHOWN)[0] == ADDS + "\n"


def test_the_first_that_passes_may_end_the_drafting():
    assert len(run(EASY, [block(SQUARES), block(ADDS)], **SHOWN, stop_when_passed="yes")[1]) == 2


def test_two_of_three_that_pass_and_agree_end_the_drafting():
    assert len(run(EASY, [block(ADDS), block(DOUBLES)], **SHOWN, stop_when_agreed="yes")[1]) == 2


DRAFTS = st.lists(
    st.sampled_from(
        [
            ("a", [{"passed": True, "said": "1"}]),
            ("b", [{"passed": True, "said": "1.0"}]),
            ("c", [{"passed": False, "said": "2"}]),
            None,
        ]
    ),
    min_size=1,
    max_size=5,
)


@given(DRAFTS)
def test_stopping_early_never_changes_who_wins(drawn):
    every = [draft for draft in drawn if draft is not None]
    early: list[Any] = []
    for n_drawn, draft in enumerate(drawn, 1):
        early += [draft] if draft is not None else []
        if early and SOLVER.settled(early, 1, n_left=len(drawn) - n_drawn):
            break
    assert (SOLVER.leader(early) if early else None) == (SOLVER.leader(every) if every else None)


# --- trying drafts in a process of their own -------------------------------------------------------


def outcomes(code: str, *tests: list[str], seconds: float = 3.0) -> list[Any]:
    found: list[Any] = TOOL.run_tests(code, list(tests), seconds, 40)
    return found


def test_each_test_is_told_by_itself():
    code = "def f(n):\n    print('noise')\n    return [1.0 / n] * 30"
    said = outcomes(code, ["f(0)", "0"], ["f(2)", "3"], ["f(1)[0]", "1"])
    assert [each["passed"] for each in said] == [False, False, True]
    assert said[0]["said"] == "ZeroDivisionError: float division by zero"
    assert len(said[1]["said"]) == 40


@pytest.mark.parametrize(
    ("code", "word"),
    [
        ("def f(n:", "SyntaxError"),
        ("import nowhere", "ModuleNotFoundError"),
        ("def f(n):\n    import os\n    os._exit(0)", "ended the process"),
        ("def f(n):\n    while True: pass", "took too long"),
        ("def f(n):\n    raise SystemExit", "SystemExit"),
        ("def f(n):\n    return bytearray(10 ** 9)", "MemoryError"),
        (
            "class A:\n    def __repr__(self): raise KeyError(1)\ndef f(n):\n    return A()",
            "KeyError",
        ),
    ],
)
def test_a_draft_that_fails_in_any_way_fails_its_tests_and_nothing_else(code, word):
    (said,) = outcomes(code, ["f(1)", "2"], seconds=0.6)
    assert not said["passed"]
    assert word in said["said"]


def test_a_draft_that_writes_the_report_itself_gains_nothing_that_is_believed():
    """It may claim to pass: its tests only choose among drafts. What is no report fails."""
    forged = (
        "import os\nfor fd in range(3, 9):\n    try: os.write(fd, b'[1]')\n    except OSError: pass"
    )
    assert [each["passed"] for each in outcomes(forged, ["f(1)", "2"])] == [False]


# --- the whole -----------------------------------------------------------------------------------


def test_every_part_the_solver_asks_for_is_declared():
    parts = set(HARNESS.manifest.parts)
    text = (FOLDER / "solver.py").read_text()
    asked = set(re.findall(r'(?:h\.(?:prompt|value)|opening|has)\("(\w+)"', text))
    assert asked | {"write", "brief"} <= parts
