"""One-line builders: a harness in memory, a step, a trajectory, a finding."""

from __future__ import annotations

from typing import Any

from harnesspro.core.findings import Place, finding_of
from harnesspro.core.records import Finding, Harness, Outcome, Span, Step, Trajectory, Trial, Usage
from harnesspro.formats.native import harness_from_files

PRICE = 100
"""Nano-dollars a token, in and out, unless a test says otherwise."""

MANIFEST = """\
format: harnesspro/1
name: small
about: A small harness.
entry: {{python: "solver.py:solve"}}
answer: {{kind: {kind}}}
roles: {{writer: {{max_output_tokens: 512}}}}
parts:
  system: {{path: prompts/system.md, kind: prompt}}
  budgets: {{path: budgets.yaml, kind: budget}}
  flow: {{path: solver.py, kind: code}}
knobs: {knobs}
"""

KNOBS = {
    "samples": "int: [1, 5]",
    "temperature": "float: [0, 1]",
    "retries": "int: [0, 3]",
    "max_output_tokens": "int: [16, 512]",
    "constrain": "choice: [none, schema]",
    "stop_when_agreed": "choice: ['no', 'yes']",
}

SOLVER = """\
def solve(task, h):
    return h.ask("writer", h.prompt("system")).json()
"""


def a_harness(*, system: str = "Be brief.", kind: str = "json", **knobs: Any) -> Harness:
    """A harness with these knobs at these values and this system prompt."""
    declared = ", ".join(f"{name}: {{part: budgets, key: {name}, {KNOBS[name]}}}" for name in knobs)
    values = "".join(f"{name}: {value!r}\n" for name, value in knobs.items())
    return harness_from_files(
        {
            "harness.yaml": MANIFEST.format(kind=kind, knobs="{" + declared + "}"),
            "prompts/system.md": system + "\n",
            "budgets.yaml": values or "{}\n",
            "solver.py": SOLVER,
        },
        where="small",
    )


def a_step(
    reply: str = '{"a": 1}',
    *,
    index: int = 0,
    prompt: str = "Do it.",
    n_in: int = 100,
    n_out: int = 10,
    cost: int | None = None,
    finish: str = "stop",
    **request: Any,
) -> Step:
    """A model call; the request is one user message and whatever else is given."""
    return Step(
        index=index,
        role="writer",
        model="m",
        request={"messages": [{"role": "user", "content": prompt}], **request},
        reply=reply,
        finish_reason=finish,
        usage=Usage(uncached_in_tokens=n_in, out_tokens=n_out),
        cost_nanos=PRICE * (n_in + n_out) if cost is None else cost,
        latency_s=1.0,
    )


def a_trajectory(
    *steps: Step, task: str = "t1", outcome: Outcome = "answered", answer: Any = None
) -> Trajectory:
    """A trial of these steps, numbered in order; answered trials default to the answer {"a": 1}."""
    numbered = tuple(step.model_copy(update={"index": i}) for i, step in enumerate(steps))
    given = ({"a": 1} if answer is None else answer) if outcome == "answered" else None
    trial = Trial(
        trial_id=f"trial-{task}",
        harness_id="h",
        task_id=task,
        draw="search/0",
        outcome=outcome,
        answer=given,
        n_calls=len(steps),
        cost_nanos=sum(step.cost_nanos for step in steps),
    )
    return Trajectory(trial=trial, steps=numbered)


def a_finding(
    detector: str,
    *,
    wasted: int = 0,
    part: str | None = None,
    knob: str | None = None,
    **detail: Any,
) -> Finding:
    """A finding of this detector; 1,000 nano-dollars were spent unless `detail` says otherwise."""
    return finding_of(
        a_harness(),
        detector=detector,
        pattern=f"pattern of {detector}",
        advice="",
        place=Place(part=part, knob=knob),
        evidence=[Span(trial_id="trial-t1", step=0, wasted_nanos=wasted)],
        detail={"spend_nanos": 1000, "n_trials": 10, "also_found": [detector], **detail},
    )
