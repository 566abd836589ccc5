"""Ask for a few samples and take their vote."""

from __future__ import annotations

from harnesspro.sdk import Harness, Malformed


def solve(task: dict[str, dict], h: Harness) -> str:
    """The option most samples name; ties go to the one named first."""
    case = task["input"]
    votes = []
    for left in range(h.knob("samples") - 1, -1, -1):
        vote = sample(case, h)
        if vote is not None:
            votes.append(vote)
        if h.knob("stop_when_agreed") == "yes" and settled(votes, left):
            break
    if not votes:
        raise Malformed("no sample named exactly one option")
    return leader(votes)


def sample(case: dict, h: Harness) -> str | None:
    """One sample's option, asked again calmly at most `retries` times, or None."""
    named = ask(case, h, temperature=h.knob("temperature"))
    for _ in range(h.knob("retries")):
        if named is not None:
            break
        named = ask(case, h, temperature=0.0)
    return named


def ask(case: dict, h: Harness, *, temperature: float) -> str | None:
    """The one option a reply ends with, or None."""
    options = case["options"]
    bound = h.knob("constrain") == "schema"
    reply = h.ask(
        "worker",
        [
            {"role": "system", "content": instructions(h)},
            {"role": "user", "content": f"{case['question']}\nOptions: {', '.join(options)}"},
        ],
        response_format=answer_format(options) if bound else None,
        temperature=temperature,
        max_output_tokens=h.knob("max_output_tokens"),
    )
    if bound:
        value = reply.json()
        named = value.get("answer") if isinstance(value, dict) else None
        return named if named in options else None
    last_line = (reply.text.strip().splitlines() or [""])[-1]
    words = {word.strip(".,;:!?`'\"") for word in last_line.split()}
    named = [option for option in options if option in words]
    return named[0] if len(named) == 1 else None


def instructions(h: Harness) -> str:
    """What every call is told before the case."""
    if h.knob("method") == "shortcut":
        return h.prompt("shortcut")
    examples = h.prompt("examples").split("\n\n")[: h.knob("examples")]
    texts = [h.prompt("system"), *examples, h.prompt("format")]
    return "\n\n".join(text for text in texts if text)


def answer_format(options: list[str]) -> dict:
    """A reply bound to `{"answer": OPTION}`."""
    schema = {
        "type": "object",
        "properties": {"answer": {"enum": options}},
        "required": ["answer"],
        "additionalProperties": False,
    }
    return {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}}


def leader(votes: list[str]) -> str:
    """The most frequent vote, ties to the first seen."""
    return max(dict.fromkeys(votes), key=votes.count)


def settled(votes: list[str], left: int) -> bool:
    """Whether `left` more votes, however they fall, leave the leader as it is."""
    if not votes:
        return False
    first, seen = leader(votes), list(dict.fromkeys(votes))
    lead = votes.count(first)
    for place, rival in enumerate(seen):
        most = votes.count(rival) + left
        wins_tie = most == lead and place < seen.index(first)
        if rival != first and (most > lead or wins_tie):
            return False
    return lead >= left
