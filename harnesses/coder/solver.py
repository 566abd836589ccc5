"""Plans, drafts several times, tries each draft on tests, mends it, and answers with what most do."""

from __future__ import annotations

import ast
import re
import warnings

from harnesspro.sdk import Harness, Malformed

BLOCK = re.compile(r"```(?:python|py)?[ \t]*\n(.*?)(?:```|\Z)", re.DOTALL)
DEFINED = re.compile(r"(?m)^def (\w+)\s*\(")
TOLD = 3
"""Failures that a draft is given back with."""


def solve(task: dict, h: Harness) -> str:
    """The function's source; Malformed where no reply holds it."""
    given = task["input"]
    name = given.get("entry_point") or (DEFINED.findall(given["prompt"]) or [""])[-1]
    job = {"task": given["prompt"].strip("\n"), "function": name}
    way = h.route({"cue": cue_of(given["prompt"], h)})
    job["plan"] = planned(job, way, h)
    tests = chosen_tests(job, h)
    drafts, n_samples = [], h.knob("samples")
    for n_drawn in range(1, n_samples + 1):
        drafts += attempt(job, tests, way.get("role", "writer"), h)
        if is_enough(drafts, len(tests), h, n_left=n_samples - n_drawn):
            break
    if not drafts:
        raise Malformed(f"no reply held a function {name}")
    return leader(drafts)[0]


def cue_of(prompt: str, h: Harness) -> str:
    """The first cue whose pattern the prompt holds."""
    found = (cue["cue"] for cue in h.value("routing")["cues"] if re.search(cue["pattern"], prompt))
    return next(found, "plain")


def has(part: str, h: Harness) -> bool:
    """Whether a text part is plugged in; an emptied one is not."""
    return bool(h.payload["parts"].get(part, {"text": ""})["text"].strip())


# --- plan and tests ------------------------------------------------------------------------------


def planned(job: dict, way: dict, h: Harness) -> str:
    """A few lines on how to go about it, where the routing or the knob asks for them."""
    wish = h.knob("plan")
    routed = wish == "routed" and str(way.get("plan", "yes")) != "no"
    if not has("plan", h) or not (wish == "always" or routed):
        return ""
    said = h.ask("planner", opening("plan", job, h), temperature=0.0, max_output_tokens=200)
    return f"\nPlan:\n{said.text.strip()}\n"


def chosen_tests(job: dict, h: Harness) -> list:
    """The tests a draft is tried on, `[call, expected]`: the docstring's first, each call once."""
    wish = h.knob("tests")
    if wish == "none" or not h.value("tools")["run_tests"]["enabled"]:
        return []
    found = shown_tests(job["task"], job["function"]) if wish in ("shown", "both") else []
    if wish in ("written", "both") and has("self_tests", h):
        messages = opening("self_tests", job, h)
        said = h.ask("planner", messages, temperature=0.0, max_output_tokens=300)
        found += written_tests(said.text, job["function"])
    distinct = {call: [call, expected] for call, expected in reversed(found)}
    return list(reversed(distinct.values()))[: h.value("budgets")["most_tests"]]


def shown_tests(prompt: str, name: str) -> list:
    """The examples that stand under a `>>>` in a docstring."""
    lines = [line.strip() for line in prompt.splitlines()]
    pairs = zip(lines, [*lines[1:], ""], strict=True)
    asserts = [
        f"assert {line[3:].strip()} == {below}" for line, below in pairs if line[:3] == ">>>"
    ]
    return [test for line in asserts for test in read_test(line, name)]


def written_tests(said: str, name: str) -> list:
    """The tests in a reply, one a line."""
    lines = (line.strip() for line in said.splitlines())
    return [test for line in lines if line.startswith("assert ") for test in read_test(line, name)]


def read_test(line: str, name: str) -> list:
    """`assert name(plain values) == plain value` as `[[call, value]]`; empty where it is another."""
    tree = parsed(line)
    match tree.body if tree else []:
        case [ast.Assert(ast.Compare(ast.Call(ast.Name(called)) as call, [ast.Eq()], [value]))]:
            plain = [*call.args, *(keyword.value for keyword in call.keywords), value]
            if called == name and all(is_plain(node) for node in plain):
                return [[ast.unparse(call), ast.unparse(value)]]
    return []


def is_plain(node: ast.expr) -> bool:
    """Whether it is a value written down."""
    try:
        ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return False
    return True


# --- drafts --------------------------------------------------------------------------------------


def opening(part: str, job: dict, h: Harness) -> list[dict]:
    """The system prompt and the part's turns, the task in the last."""
    turns = h.prompt(part).split("\n---\n")  # before any text of the task is in it
    for slot, text in job.items():
        turns = [turn.replace("{{" + slot + "}}", text) for turn in turns]
    said_by = ["user" if (len(turns) - place) % 2 else "assistant" for place in range(len(turns))]
    shown = [{"role": role, "content": turn} for role, turn in zip(said_by, turns, strict=True)]
    return [{"role": "system", "content": h.prompt("system")}, *shown]


def attempt(job: dict, tests: list, role: str, h: Harness) -> list:
    """A draft that was tried, and given back while it fails: `[(code, outcomes)]`, or none."""
    messages = opening("brief" if h.knob("steps") == "none" else "write", job, h)
    may_repair = has("repair", h) and has("self_tests", h)
    best: list = []
    for n_left in range(h.knob("repair_rounds") * may_repair, -1, -1):
        said = ask(role, messages, h)
        code = code_of(said, job)
        outcomes = tried(code, tests, h) if code else []
        if code and (not best or n_passed(outcomes) >= n_passed(best[0][1])):
            best = [(code, outcomes)]
        fault = fault_of(code, tests, outcomes, job["function"])
        if not fault or not n_left:
            break
        told = {
            "role": "user",
            "content": h.prompt("repair", fault=fault, function=job["function"]),
        }
        messages = [*messages, {"role": "assistant", "content": said}, told]
    return best


def ask(role: str, messages: list[dict], h: Harness) -> str:
    """One reply; every draft of a task is the same request, so that equal draws stay equal."""
    reply = h.ask(
        role,
        messages,
        temperature=h.knob("temperature"),
        max_output_tokens=h.knob("max_output_tokens"),
    )
    return reply.text


def code_of(said: str, job: dict) -> str:
    """The first code block that defines the function, else the reply as a whole; else nothing.

    A reply that goes on where the task's text ends is put behind it.
    """
    blocks = BLOCK.findall(said) or [said]
    whole = [*blocks, *(f"{job['task']}\n{block}" for block in blocks)]
    return next((text.strip() + "\n" for text in whole if defines(text, job["function"])), "")


def defines(source: str, name: str) -> bool:
    """Whether it parses and defines a function of this name that is more than its docstring."""
    tree = parsed(source)
    found = [node for node in tree.body if isinstance(node, ast.FunctionDef)] if tree else []
    return any(node.name == name and not is_stub(node) for node in found)


def is_stub(node: ast.FunctionDef) -> bool:
    """Nothing but a docstring, `pass` or `...`."""
    return all(
        isinstance(line, ast.Pass)
        or (isinstance(line, ast.Expr) and isinstance(line.value, ast.Constant))
        for line in node.body
    )


def parsed(source: str) -> ast.Module | None:
    """The source as a tree; None where it is no Python."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def tried(code: str, tests: list, h: Harness) -> list:
    """What came of every test; nothing is run where there are none."""
    if not tests:
        return []
    about = h.value("tools")["run_tests"]
    job = {"code": code, "tests": tests, "seconds": about["seconds"]}
    return h.run_tool("run_tests", {**job, "result_chars": about["result_chars"]})


def fault_of(code: str, tests: list, outcomes: list, name: str) -> str:
    """What a draft is given back with; empty where nothing is known against it."""
    if not code:
        return f"there was no Python code block that defines a function `{name}`"
    failed = [
        f"- {call} gave {outcome['said']}; expected {expected}"
        for (call, expected), outcome in zip(tests, outcomes, strict=True)
        if not outcome["passed"]
    ]
    return "\n".join(failed[:TOLD])


# --- voting --------------------------------------------------------------------------------------


def n_passed(outcomes: list) -> int:
    """Tests passed."""
    return sum(outcome["passed"] for outcome in outcomes)


def behaviour(draft: tuple) -> str:
    """Drafts with the same one are the same answer: by what tests gave, else by the code's tree."""
    code, outcomes = draft
    if outcomes:
        return repr([(outcome["passed"], outcome["said"]) for outcome in outcomes])
    return ast.dump(parsed(code))


def leader(drafts: list) -> tuple:
    """Of the drafts that pass most tests the one most others do like; among equals the first."""
    same = [behaviour(draft) for draft in drafts]
    marks = [
        (n_passed(draft[1]), same.count(key), -same.index(key))
        for draft, key in zip(drafts, same, strict=True)
    ]
    return drafts[marks.index(max(marks))]


def is_enough(drafts: list, n_tests: int, h: Harness, *, n_left: int) -> bool:
    """Whether a knob says that no further draft is wanted."""
    if not drafts:
        return False
    if h.knob("stop_when_passed") == "yes" and n_tests:
        return any(n_passed(outcomes) == n_tests for _, outcomes in drafts)
    return h.knob("stop_when_agreed") == "yes" and settled(drafts, n_tests, n_left=n_left)


def settled(drafts: list, n_tests: int, *, n_left: int) -> bool:
    """Whether `n_left` more drafts cannot change the leader, which must have passed every test."""
    first = leader(drafts)
    if n_passed(first[1]) < n_tests:
        return n_left == 0
    rivals = [behaviour(draft) for draft in drafts if n_passed(draft[1]) == n_tests]
    mine = behaviour(first)
    lead = rivals.count(mine)
    for rival in dict.fromkeys(rivals):
        at_most = rivals.count(rival) + n_left
        wins_ties = rivals.index(rival) < rivals.index(mine)
        if rival != mine and (at_most > lead or (at_most == lead and wins_ties)):
            return False
    return n_left <= lead  # at a tie a new answer comes after the leader
