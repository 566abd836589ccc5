"""A small finished run on disk, made with the real ledger, trees and report."""

from __future__ import annotations

import json
from pathlib import Path

from harnesspro.core.documents import Picks
from harnesspro.core.ports import CallEnd, ChatReply, ChatRequest, Grant, PlannedCall
from harnesspro.core.records import Candidate, Harness, Limits, Patch, ReplaceText, Trial, Usage
from harnesspro.formats.native import apply_patch, harness_from_files
from harnesspro.store.ledger import LedgerWriter
from harnesspro.store.runs import write_json
from harnesspro.store.trees import GitTrees
from tests.unit.view.documents import BASELINE, CHEAP, document

RUN_ID = "20261130-214611-7f3a"
MANIFEST = """\
format: harnesspro/1
name: toy
about: Answers.
entry: {python: "solver.py:solve"}
answer: {kind: text}
roles:
  writer: {max_output_tokens: 100}
parts:
  system: {path: prompts/system.md, kind: prompt}
  budgets: {path: budgets.yaml, kind: budget}
  flow: {path: solver.py, kind: code}
knobs:
  samples: {part: budgets, key: samples, int: [1, 5]}
"""
SOLVER = """\
def solve(task, h):
    return h.ask("writer", [{"role": "user", "content": str(task["input"])}]).text
"""
BASE = harness_from_files(
    {
        "harness.yaml": MANIFEST,
        "prompts/system.md": "Think hard.\nBe kind.\nAnswer.\n",
        "budgets.yaml": "samples: 3\n",
        "solver.py": SOLVER,
        "README.md": "A toy.\n",
    },
    where="toy",
)
PATCH = Patch(
    parent_id=BASE.harness_id,
    edits=(ReplaceText(path="prompts/system.md", old="Be kind.\n", new="Be brief.\x1b[31m\n"),),
    knobs={"samples": 1},
    direction="cost",
    proposer="operator:fewer_samples",
    summary="One sample instead of three.",
    hypothesis="Samples agree.",
)
BETTER = apply_patch(BASE, PATCH)
TASKS = ("task-aaaa000000000000", "task-aabb000000000000", "task-cc00000000000000")


def candidate(harness: Harness, patch: Patch | None = None) -> Candidate:
    return Candidate(
        candidate_id=harness.harness_id,
        parent_id=patch.parent_id if patch else None,
        generation=1 if patch else 0,
        round_index=0,
        patch=patch,
        summary=patch.summary if patch else "The harness as given.",
        proposer=patch.proposer if patch else "baseline",
    )


def trial(harness: Harness, task_id: str, draw: str = "search/0") -> Trial:
    return Trial(
        trial_id=f"t-{harness.harness_id[2:8]}-{task_id[5:9]}-{draw[-1]}",
        harness_id=harness.harness_id,
        task_id=task_id,
        draw=draw,
        outcome="answered",
        answer={"name": "f", "arguments": {"x": "\x1b[31m"}},
        usage=Usage(uncached_in_tokens=10, out_tokens=3),
        n_calls=1,
        cost_nanos=2500,
        latency_s=1.5,
        notes=("voted",),
        isolation="S3",
    )


def finished_run(out: Path) -> Path:
    """A run folder under `out` with two candidates and their trials."""
    run_dir = out / "runs" / RUN_ID
    run_dir.mkdir(parents=True)
    (run_dir / "run.json").write_text(json.dumps({"harness_name": "toy"}))
    trees = GitTrees(run_dir)
    trees.put(BASE, message="initial harness")
    trees.put(BETTER, message="fewer samples")
    with LedgerWriter(run_dir) as ledger:
        for made in (candidate(BASE), candidate(BETTER, PATCH)):
            ledger.put("candidate", made.candidate_id, made.model_dump(mode="json"))
        for task_id in TASKS:
            record(ledger, trial(BASE, task_id))
        record(ledger, trial(BETTER, TASKS[0]))
        record(ledger, trial(BETTER, TASKS[0], "search/1"))
    write_json(run_dir / "report.json", report().model_dump(mode="json", by_alias=True))
    return run_dir


def report():
    better = {"candidate_id": BETTER.harness_id, "parent_id": BASE.harness_id}
    point = CHEAP.model_copy(update=better)
    return document(
        run_id=RUN_ID,
        harness_name="toy",
        baseline=BASELINE.model_copy(update={"candidate_id": BASE.harness_id}),
        front=(point,),
        candidates=(point,),
        picks=Picks(knee=BETTER.harness_id, cheapest_safe=BETTER.harness_id, best=None),
        verdicts=(),
    )


def record(ledger: LedgerWriter, one: Trial) -> None:
    attempt = ledger.open_attempt(
        Grant(
            trial_id=one.trial_id,
            harness_id=one.harness_id,
            task_id=one.task_id,
            draw=one.draw,
            purse="target",
            models={"writer": "sim/small"},
            max_output_tokens={"writer": 100},
            limits=Limits(),
        )
    )
    messages = ({"role": "system", "content": "Be brief."}, {"role": "user", "content": "2+2?"})
    planned = PlannedCall(
        trial_id=one.trial_id,
        attempt=attempt,
        index=0,
        role="writer",
        draw=one.draw,
        purse="target",
        replay_key=f"k-{one.trial_id}",
        reserved_nanos=5000,
        paid=True,
        request=ChatRequest(model="sim/small", messages=messages, max_output_tokens=100),
    )
    reply = ChatReply(
        text="four\x1b]0;x\x07",
        finish_reason="stop",
        usage=one.usage,
        model="sim/small",
        latency_s=1.5,
    )
    call_id = ledger.send(planned)
    ledger.settle(call_id, CallEnd("done", reply=reply, attributed_nanos=2500))
    ledger.put("trial", one.trial_id, one.model_dump(mode="json"))
