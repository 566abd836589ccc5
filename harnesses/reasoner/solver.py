"""Chooses a way to work by the task's text, draws several replies and answers with what most give."""

from __future__ import annotations

import re

from harnesspro.sdk import Harness, Malformed

NUMBER = re.compile(r"(?:.*=)?\s*([+-]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?)(?:\s+[a-z]+|°|%)*\s*")
ANSWER = re.compile(r"(?im)^\W*(?:final )?answer\W*?:\s*(.+)$")
CALCULATE = re.compile(r"(?im)^\W*calculate\W*?:\s*(.+)$")
OPERATION = re.compile(r"[\d)] *[-+*/%] *[-(]*[\d(]")
BLOCK = re.compile(r"```(?:python|py)?\s*\n(.*?)(?:```|\Z)", re.DOTALL)
LONGEST_ANSWER = 60


def solve(task: dict, h: Harness) -> str:
    """The answer that most replies give; Malformed where no reply gives one."""
    request = task["input"]["request"]
    tool = chosen_tool(request, h)
    messages = conversation(request, tool, h)
    votes, said, fault = vote(messages, tool, h)
    for _ in range(h.knob("retries")):
        if votes:
            break
        more = [{"role": "assistant", "content": said}]
        more += [{"role": "user", "content": h.prompt("again", fault=fault)}]
        said = ask([*messages, *more], h)
        votes, fault = read(said, tool, h)
    if not votes:
        raise Malformed(fault)
    result = leader([answer for answer, _ in votes])
    if tool == "none" or h.knob("finish") == "tool":
        return result
    worked = next(text for answer, text in votes if answer == result)
    return worded(result, [*messages, {"role": "assistant", "content": worked}], h)


def chosen_tool(request: str, h: Harness) -> str:
    """`calculator`, `python` or `none`: by the knob, else by the first cue found in the text."""
    tool = h.knob("tool")
    if tool == "routed":
        cues = h.value("routing")["cues"]
        found = (cue["cue"] for cue in cues if re.search(cue["pattern"], request))
        tool = h.route({"cue": next(found, "plain")}).get("tool", "none")
    about = h.value("tools").get(tool)
    return tool if about and about["enabled"] else "none"


def conversation(request: str, tool: str, h: Harness) -> list[dict]:
    """The system prompt, a worked example as turns of its own, the task last."""
    part = {"none": "think", "calculator": "calculate", "python": "program"}[tool]
    about = {} if tool == "none" else {"tool": h.value("tools")[tool]["description"]}
    form = h.prompt(part, **about)
    if h.knob("steps") == "none":
        form = "\n".join(line for line in form.split("\n") if not line.startswith("Steps:"))
    turns = [turn.replace("{{request}}", request) for turn in form.split("\n---\n")]
    said_by = ["user" if (len(turns) - place) % 2 else "assistant" for place in range(len(turns))]
    shown = [{"role": role, "content": turn} for role, turn in zip(said_by, turns, strict=True)]
    return [{"role": "system", "content": h.prompt("system")}, *shown]


def vote(messages: list[dict], tool: str, h: Harness) -> tuple[list, str, str]:
    """The answers with their replies in the order drawn, the last reply, and what was wrong."""
    votes, said, fault = [], "", ""
    n_samples = h.knob("samples")
    for n_drawn in range(1, n_samples + 1):
        said = ask(messages, h)
        read_now, fault = read(said, tool, h)
        votes += read_now
        answers = [answer for answer, _ in votes]
        if h.knob("stop_when_agreed") == "yes" and settled(answers, n_left=n_samples - n_drawn):
            break
    return votes, said, fault


def ask(messages: list[dict], h: Harness) -> str:
    """One reply; every sample of a task is the same request, so that equal draws stay equal."""
    reply = h.ask(
        "solver",
        messages,
        temperature=h.knob("temperature"),
        max_output_tokens=h.knob("max_output_tokens"),
    )
    return reply.text


def read(said: str, tool: str, h: Harness) -> tuple[list, str]:
    """The answer a reply gives, with the reply, in a list of one; or none and what was wrong."""
    if tool == "none":
        answer = stated(said)
        return ([(answer, said)], "") if answer else ([], "there was no line `Answer: ...`")
    wanted = {"calculator": expression, "python": program}[tool](said)
    key = {"calculator": "expression", "python": "code"}[tool]
    try:
        result = spelt(h.run_tool(tool, {key: wanted}))
    except ValueError as error:
        return [], str(error)
    if not result or len(result) > h.value("tools")[tool]["result_chars"]:
        return [], "the result was empty or too long"
    return [(result, said)], ""


def worded(result: str, messages: list[dict], h: Harness) -> str:
    """The final answer as the model words it after it has seen the result; else the result."""
    told = {"role": "user", "content": h.prompt("finish", result=result)}
    return stated(ask([*messages, told], h)) or result


# --- reading replies -----------------------------------------------------------------------------


def stated(said: str) -> str:
    """What stands after the last `Answer:`, or all of a reply of one short line; else nothing."""
    found = ANSWER.findall(said)
    lines = said.strip().splitlines()
    if found:
        return spelt(found[-1])
    return spelt(lines[0]) if len(lines) == 1 and len(lines[0]) <= LONGEST_ANSWER else ""


def expression(said: str) -> str:
    """What stands after the last `Calculate:` that has something to calculate, else the last line.

    An equals sign ends it. Empty where there is nothing but a number: that is the model's own sum.
    """
    lines = [*said.strip().splitlines()[-1:], *CALCULATE.findall(said)]
    plain = (line.replace("×", "*").replace("−", "-") for line in lines)
    found = [line.partition("=")[0].strip(" `*$.") for line in plain]
    return next((line for line in reversed(found) if OPERATION.search(line)), "")


def program(said: str) -> str:
    """The last code block, else the whole reply."""
    blocks = BLOCK.findall(said)
    return blocks[-1] if blocks else said


def spelt(text: str) -> str:
    """One spelling an answer: no quotes or marks around it, numbers as plain digits."""
    boxed = re.search(r"\\boxed\{([^{}]*)\}", text)
    bare = (boxed.group(1) if boxed else text).strip(" \t\"'`*$<>.\\()[]")
    number = NUMBER.fullmatch(bare)
    if not number:
        return bare
    whole, _, part = number.group(1).replace(",", "").lstrip("+").partition(".")
    sign, whole = ("-", whole[1:]) if whole.startswith("-") else ("", whole)
    plain = (whole.lstrip("0") or "0") + ("." + part.rstrip("0") if part.rstrip("0") else "")
    return plain if plain == "0" else sign + plain


# --- voting --------------------------------------------------------------------------------------


def leader(votes: list[str]) -> str:
    """The most frequent vote; among equals the one seen first."""
    return max(dict.fromkeys(votes), key=votes.count)


def settled(votes: list[str], *, n_left: int) -> bool:
    """Whether `n_left` more votes cannot change the leader."""
    if not votes:
        return False
    first = leader(votes)
    lead = votes.count(first)
    for rival in dict.fromkeys(votes):
        at_most = votes.count(rival) + n_left
        wins_ties = votes.index(rival) < votes.index(first)
        if rival != first and (at_most > lead or (at_most == lead and wins_ties)):
            return False
    return n_left <= lead  # at a tie a new answer comes after the leader
