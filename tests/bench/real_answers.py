"""Which label-free channel sees a worse variant on a real model's answers, and how often it is right.

Two steps, by hand: `record` asks the embedded model once (an hour on two cores; it may be stopped and
goes on where it was) and keeps every answer; `judge` reads them, computes each channel's word without
gold, and only then holds it against gold.
`python tests/bench/real_answers.py record calls --wheel BFCL_WHEEL --to DIR`, then `judge` likewise.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

from harnesspro.checks import checks_for, probes_for
from harnesspro.core.answers import NO_ANSWER, Behaviours, cluster_of
from harnesspro.core.calibration import ProbeAnswer, ProbeRow, hit_rate, mark, pairs_of
from harnesspro.core.channels import measure_channel
from harnesspro.core.confirm import Pick, judge
from harnesspro.core.hashing import canonical_json
from harnesspro.core.records import Check, Manifest, Task, Trial
from harnesspro.core.referee import freeze
from harnesspro.core.stats import agreement_upper
from harnesspro.providers.local import LocalProvider
from harnesspro.providers.model_server import start_server
from harnesspro.stages.behave import BehaviourBench, behave
from harnesspro.stages.check_answers import CheckBench, check_answers, results_on_record
from harnesspro.stages.score import passed_by, table_of
from harnesspro.testing.doubles import MemoryLedger
from tests.bench.in_process import MODEL, Graded
from tests.bench.materials import Code, Item, Material, Reasoning, ToolCalls
from tests.unit.sandbox.boxes import Box, interpreter, launched

MATERIALS: Mapping[str, Callable[[Path], Any]] = {
    "calls": ToolCalls,
    "reasoning": Reasoning,
    "code": Code,
}
KINDS = ("real", "reordered", "renamed", "probe")
USD_PER_TOKEN = 1e-7


def items(material: Material, n: int, n_probes: int) -> Iterator[Item]:
    """Real tasks first, then changed copies, then probes made after the real tasks."""
    real = material.tasks(n)
    yield from (Item("real", graded) for graded in real)
    for graded in real:
        for kind, copy in material.copies(graded).items():
            yield Item(kind, copy)
    tasks = [graded.task for graded in real]
    for probe in probes_for(material.spec, tasks, seed=3, n=n_probes):
        if not probe.impossible:
            yield Item("probe", Graded(probe.task, probe.answer))


def wanted(item: Item, variant: str, material: Material) -> bool:
    """The dear initial harness answers real tasks alone."""
    return item.kind == "real" or variant != material.variants[0]


# --- recording ---------------------------------------------------------------------------------


def record(material: Material, options: argparse.Namespace) -> None:
    """Ask the model whatever is not on file yet."""
    options.to.mkdir(parents=True, exist_ok=True)
    path = options.to / "answers.jsonl"
    done = {(row["variant"], row["item"]) for row in rows(path)}
    everything = list(items(material, options.n, options.n_probes))
    if options.differing:
        telling = _differing(material, path)
        everything = [i for i in everything if i.kind == "real" or i.graded.task.task_id in telling]
    server = start_server(MODEL, threads=options.threads)
    provider = LocalProvider({MODEL: server.url})
    try:
        for kind in options.kind or KINDS:
            for variant in options.variant or material.variants:
                for item in everything:
                    asked = item.kind == kind and wanted(item, variant, material)
                    if asked and (variant, item.key) not in done:
                        _append(path, variant, item, material.run(variant, item.graded, provider))
    finally:
        provider.close()
        server.stop()


def _differing(material: Material, path: Path) -> set[str]:
    """The tasks whose real answers on file differ: no copy of another task tells the variants apart."""
    answers: dict[str, set[str]] = {}
    for row in rows(path):
        kind, _, task_id = row["item"].partition("/")
        if kind == "real" and row["variant"] in material.variants[1:]:
            answers.setdefault(task_id, set()).add(canonical_json(row["answer"]))
    return {task_id for task_id, given in answers.items() if len(given) > 1}


def _append(path: Path, variant: str, item: Item, run: Any) -> None:
    row = {
        "variant": variant,
        "item": item.key,
        "outcome": run.result["outcome"],
        "answer": run.result.get("answer"),
        "in_tokens": sum(reply.usage.in_tokens for reply in run.replies),
        "out_tokens": sum(reply.usage.out_tokens for reply in run.replies),
        "seconds": round(run.seconds, 2),
    }
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(row) + "\n")


def rows(path: Path) -> list[dict[str, Any]]:
    """Every answer on file; a half-written last line is left out."""
    if not path.exists():
        return []
    lines = path.read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines if line.endswith("}")]


# --- judging -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Sheet:
    """Everything known of one kind of item: answers, what was said of them, and the truth."""

    items: dict[str, Item]
    """task_id -> item."""
    trials: dict[tuple[str, str], Trial]
    """(variant, task_id) -> trial."""
    clusters: dict[str, str]
    said: dict[str, dict[tuple[str, str], float]]
    """Channel -> (task_id, cluster) -> score."""
    right: dict[tuple[str, str], bool]
    """(task_id, cluster) -> truth."""
    behaviours: Behaviours


def judge_all(material: Any, options: argparse.Namespace) -> None:
    """The tables of real tasks, then of probes."""
    kept = {(row["variant"], row["item"]): row for row in rows(options.to / "answers.jsonl")}
    everything = list(items(material, options.n, options.n_probes))
    with ExitStack() as stack:
        box = stack.enter_context(launched("S3")) if material.spec.kind == "code" else None
        for kind in ("real", "probe"):
            sheet = sheet_of(material, kind, everything, kept, box)
            names = [v for v in material.variants if any(key[0] == v for key in sheet.trials)]
            for base, variant in combinations(names, 2):
                report(kind, base, variant, sheet)
            if kind == "real" and len(names) > 1:
                verdicts(material, names, sheet)


def sheet_of(
    material: Any,
    kind: str,
    everything: Sequence[Item],
    kept: Mapping[tuple[str, str], dict[str, Any]],
    box: Box | None,
) -> Sheet:
    """What is on file of one kind of item, with what the product's own stages say of it."""
    chosen = {item.graded.task.task_id: item for item in everything if item.kind == kind}
    trials = {
        (variant, task_id): _trial(variant, task_id, kept[variant, item.key])
        for variant in material.variants
        for task_id, item in chosen.items()
        if (variant, item.key) in kept
    }
    tasks = {task_id: item.graded.task for task_id, item in chosen.items()}
    checks, results, behaviours = _heard(material, list(trials.values()), chosen, box)
    clusters = {
        trial.trial_id: cluster_of(trial, material.spec.kind, behaviours)
        for trial in trials.values()
    }
    passed = passed_by(
        list(trials.values()),
        tasks,
        spec=material.spec,
        checks=checks,
        said=results,
        behaviours=behaviours,
    )
    said: dict[str, dict[tuple[str, str], float]] = {}
    for place, shares in passed.items():
        for check in checks:
            if check.check_id in shares:
                said.setdefault(f"check {check.name}", {})[place] = shares[check.check_id]
    if kind == "real":
        for name, scores in _stable(material, everything, kept, trials, clusters).items():
            said[name] = scores
    right = _truth(material, chosen, trials, clusters, behaviours=behaviours, box=box)
    return Sheet(chosen, trials, clusters, said, right, behaviours)


def _trial(variant: str, task_id: str, row: Mapping[str, Any]) -> Trial:
    tokens = row["in_tokens"] + row["out_tokens"]
    return Trial(
        trial_id=f"{variant}/{task_id}",
        harness_id=variant,
        task_id=task_id,
        draw="bench/0",
        outcome=row["outcome"],
        answer=row["answer"] if row["outcome"] == "answered" else None,
        cost_nanos=round(tokens * USD_PER_TOKEN * 1e9),
        latency_s=row["seconds"],
    )


def _heard(
    material: Any, trials: Sequence[Trial], chosen: Mapping[str, Item], box: Box | None
) -> tuple[tuple[Check, ...], Mapping[tuple[str, str, str], float], Behaviours]:
    """The checks, what programs said, and what code does."""
    checks = tuple(
        check.model_copy(update={"admitted": True}) for check in checks_for(material.spec)
    )
    if box is None:
        return checks, {}, {}
    ledger = MemoryLedger()
    tasks = {task_id: item.graded.task for task_id, item in chosen.items()}
    answers = [(tasks[t.task_id], t.answer) for t in trials if t.outcome == "answered"]
    answers += [(i.graded.task, i.graded.gold) for i in chosen.values() if i.kind == "probe"]
    bench = BehaviourBench(box.client, ledger, material.spec, str(box.code), n_at_once=2)
    behaviours = behave(answers, bench)
    manifest = Manifest.model_validate(
        {
            "format": "harnesspro/1",
            "name": "bench",
            "about": "Holds what the checks need to know.",
            "entry": {"python": "solver.py:solve"},
            "answer": material.spec.model_dump(),
            "roles": {},
            "parts": {},
        }
    )
    programs = tuple(check for check in checks if check.writer == "program")
    check_answers(
        trials,
        tasks,
        CheckBench(
            sandbox=box.client,
            ledger=ledger,
            manifest=manifest,
            code_dir=str(box.code),
            programs=programs,
            behaviours=behaviours,
            n_at_once=2,
        ),
    )
    return checks, results_on_record(ledger), behaviours


def _stable(
    material: Any,
    everything: Sequence[Item],
    kept: Mapping[tuple[str, str], dict[str, Any]],
    trials: Mapping[tuple[str, str], Trial],
    clusters: Mapping[str, str],
) -> dict[str, dict[tuple[str, str], float]]:
    """Of the answers to a changed copy by the cheaper variants: how many are this one."""
    found: dict[str, dict[tuple[str, str], float]] = {}
    for item in everything:
        if item.kind in ("real", "probe"):
            continue
        task = item.graded.task
        cast = [
            _copied(material, item, kept[variant, item.key])
            for variant in material.variants[1:]
            if (variant, item.key) in kept
        ]
        if len(cast) < len(material.variants) - 1:
            continue
        for (_, task_id), trial in trials.items():
            if task_id == task.task_id and trial.outcome == "answered":
                key = clusters[trial.trial_id]
                scores = found.setdefault(f"stable when {item.kind}", {})
                scores[task_id, key] = cast.count(key) / len(cast)
    return found


def _copied(material: Any, item: Item, row: Mapping[str, Any]) -> str:
    """The cluster of an answer to a changed copy, told in the original's words."""
    trial = _trial("copy", item.graded.task.task_id, row)
    answer = material.back(item.kind, item.graded.task, trial.answer)
    return cluster_of(trial.model_copy(update={"answer": answer}), material.spec.kind)


def _truth(
    material: Any,
    chosen: Mapping[str, Item],
    trials: Mapping[tuple[str, str], Trial],
    clusters: Mapping[str, str],
    *,
    behaviours: Behaviours,
    box: Box | None,
) -> dict[tuple[str, str], bool]:
    """Of every distinct answer; of a cluster the first answer is graded."""
    found: dict[tuple[str, str], bool] = {}
    for (_, task_id), trial in trials.items():
        place = (task_id, clusters[trial.trial_id])
        if place in found:
            continue
        item = chosen[task_id]
        if trial.outcome != "answered":
            found[place] = False
        elif item.kind == "probe":
            own = trial.model_copy(update={"answer": item.graded.gold})
            found[place] = place[1] == cluster_of(own, material.spec.kind, behaviours)
        elif box is not None:
            found[place] = _passes_hidden(box, material.hidden(item.graded, trial.answer))
        else:
            found[place] = material.is_right(item.graded, trial.answer)
    return found


def _passes_hidden(box: Box, program: str) -> bool:
    argv = (interpreter(), "-I", "-S", "-B", "hidden.py")
    result = box.run(argv, files={"hidden.py": program}, wall_s=6.0)
    return result.ended == "exited" and result.exit_code == 0


# --- tables ------------------------------------------------------------------------------------


def report(kind: str, base: str, variant: str, sheet: Sheet) -> None:
    """What each channel sees of one pair of variants."""
    found = [
        row for task_id in sheet.items if (row := _row(task_id, (base, variant), sheet)) is not None
    ]
    if not found:
        return
    n = len(found)
    n_right = [sum(row.answers[k].right for row in found) for k in (0, 1)]
    changed = sum(row.answers[0].cluster != row.answers[1].cluster for row in found)
    pairs = pairs_of(found, seed=0)
    say(f"\n{kind}: {base} ({n_right[0]} of {n} right) against {variant} ({n_right[1]} of {n})")
    say(f"  {changed} answers differ; {len(pairs)} pairs of given answers have exactly one right")
    for name in sorted({name for row in found for name in row.scores}):
        merits = {row.probe_id: row.scores[name] for row in found if name in row.scores}
        marks = mark([pair for pair in pairs if pair.probe_id in merits], merits)
        rate = hit_rate(marks)
        if rate is None:
            continue
        measured = measure_channel(name, "checks", found, seed=0)
        say(
            f"  {name:30} hit rate {rate.mean:.2f} [{rate.low:.2f}, {rate.high:.2f}] of {rate.n:3}"
            f"  ties {marks.ties:3}  wrong for/against change {marks.wrong_for_change}"
            f"/{marks.wrong_against}  {measured.reason}"
        )


def _row(task_id: str, names: Sequence[str], sheet: Sheet) -> ProbeRow | None:
    trials = [sheet.trials.get((name, task_id)) for name in names]
    given = [trial for trial in trials if trial is not None]
    if len(given) < len(names):
        return None
    answers = tuple(
        ProbeAnswer(
            candidate_id=trial.harness_id,
            cluster=(key := sheet.clusters[trial.trial_id]),
            right=sheet.right[task_id, key],
            answered=key != NO_ANSWER,
            n_chars=0 if key == NO_ANSWER else len(canonical_json(trial.answer)),
            latency_s=trial.latency_s,
            cost_usd=trial.cost_usd,
        )
        for trial in given
    )
    keys = {answer.cluster for answer in answers if answer.answered}
    scores = {
        name: {**{key: said[task_id, key] for key in keys}, NO_ANSWER: 0.0}
        for name, said in sheet.said.items()
        if all((task_id, key) in said for key in keys)
    }
    return ProbeRow(probe_id=task_id, answers=answers, scores=scores)


def verdicts(material: Any, names: Sequence[str], sheet: Sheet) -> None:
    """What confirm says of every later variant against the first one, no referee being trusted."""
    tasks: dict[str, Task] = {key: item.graded.task for key, item in sheet.items.items()}
    table = table_of(
        list(sheet.trials.values()),
        tasks,
        spec=material.spec,
        referee=freeze(()),
        owner_results={},
        behaviours=sheet.behaviours,
    )
    say("")
    for name in names[1:]:
        pick = Pick(candidate_id=name, claim="cost", why="bench")
        (verdict,) = judge(
            [pick], table, names[0], eps=0.05, referee=freeze(()), base_disagreement=None
        )
        bound = agreement_upper(verdict.n_changed, verdict.n)
        say(f"{name} against {names[0]}: {verdict.kind}, accuracy within {100 * bound:.1f} points")


def say(text: str) -> None:
    """A line of the table."""
    sys.stdout.write(text + "\n")


def main() -> int:
    """Record or judge one material."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("step", choices=["record", "judge"])
    parser.add_argument("material", choices=sorted(MATERIALS))
    parser.add_argument("--wheel", type=Path, required=True, help="the wheel the tasks come from")
    parser.add_argument("--to", type=Path, required=True)
    parser.add_argument("--n", type=int, default=96)
    parser.add_argument("--n-probes", type=int, default=120)
    parser.add_argument("--kind", action="append", choices=KINDS)
    parser.add_argument("--variant", action="append")
    parser.add_argument(
        "--differing", action="store_true", help="copies only of tasks whose answers differ"
    )
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    options = parser.parse_args()
    material = MATERIALS[options.material](options.wheel)
    {"record": record, "judge": judge_all}[options.step](material, options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
