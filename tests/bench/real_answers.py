"""Which label-free channel sees a worse variant on a real model's answers, and how often it is right.

`judge` and `channels` read the answers kept in `recorded/`; neither needs a model. Made by `record`
(the variants, and changed copies of the tasks on which they differ), `look` (the same model asked
otherwise about those answers) and `pack` (which grades them); each goes on where it was stopped, and
`unpack` lays a kept recording out to go on from.
`python tests/bench/real_answers.py channels calls`; `… record calls --wheel BFCL_WHEEL --to DIR`.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

from harnesspro.core.ports import ModelProvider
from tests.bench import looks, real_tables, recordings
from tests.bench.in_process import Graded, Run
from tests.bench.materials import Code, Coder, Material, Reasoning, ToolCalls
from tests.bench.recordings import ANSWERS, LOOKS, RECORDED, append, rows, telling
from tests.bench.remembered import Remembered
from tests.bench.sheets import sheet_of
from tests.unit.sandbox.boxes import Box, launched

MATERIALS: Mapping[str, Callable[[Path], Any]] = {
    "calls": ToolCalls,
    "reasoning": Reasoning,
    "code": Code,
    "coder": Coder,
}
KINDS = ("real", "reordered", "renamed")


# --- recording ---------------------------------------------------------------------------------


def record(material: Any, options: argparse.Namespace) -> None:
    """Ask the model whatever is not on file yet: real tasks first, then changed copies."""
    path = options.to / ANSWERS
    done = {(row["variant"], row["item"]) for row in rows(path)}
    with served(options) as provider, boxed(material) as box:
        for kind in options.kind or KINDS:
            for graded in items(material, kind, options, box):
                for variant in asked(material, kind):
                    key = f"{kind}/{graded.task.task_id}"
                    if (variant, key) not in done:
                        run = material.run(variant, graded, provider, box)
                        append(path, _row(variant, key, run))


def items(
    material: Any, kind: str, options: argparse.Namespace, box: Box | None
) -> Iterator[Graded]:
    """The tasks, or the changed copies of those to which both right and wrong answers are on file."""
    tasks = material.tasks(options.n)
    if kind == "real":
        yield from tasks
        return
    for graded in _telling(material, tasks, options, box):
        copies = material.copies(graded)
        if kind in copies:
            yield copies[kind]


def _telling(
    material: Any, tasks: Sequence[Graded], options: argparse.Namespace, box: Box | None
) -> list[Graded]:
    known = {graded.task.task_id: graded for graded in tasks}
    wanted = telling(
        rows(options.to / ANSWERS),
        lambda task_id, answer: material.is_right(known[task_id], answer, box),
    )
    return [graded for task_id, graded in known.items() if task_id in wanted]


def asked(material: Material, kind: str) -> tuple[str, ...]:
    """The dear initial harness answers real tasks alone."""
    return tuple(material.variants[kind != "real" :])


def _row(variant: str, key: str, run: Run) -> dict[str, Any]:
    return {
        "variant": variant,
        "item": key,
        "outcome": run.result["outcome"],
        "answer": run.result.get("answer"),
        "in_tokens": sum(reply.usage.in_tokens for reply in run.replies),
        "out_tokens": sum(reply.usage.out_tokens for reply in run.replies),
        "seconds": round(run.seconds, 2),
    }


def look(material: Any, options: argparse.Namespace) -> None:
    """Ask otherwise about the answers on file that differ, whatever is not on file yet."""
    path = options.to / LOOKS
    known = {looks.key_of(row) for row in rows(path)}
    tasks = _telling(material, material.tasks(options.n), options, None)
    given = looks.given(tasks, rows(options.to / ANSWERS))
    with served(options) as provider:
        for name in options.look or looks.LOOKS:
            for one in given:
                for row in looks.ask(name, one, known, provider):
                    append(path, row)


@contextmanager
def served(options: argparse.Namespace) -> Iterator[ModelProvider]:
    """The embedded model, for as long as it is asked."""
    options.to.mkdir(parents=True, exist_ok=True)
    provider = Remembered(options.replies, threads=options.threads)
    try:
        yield provider
    finally:
        provider.close()


# --- keeping and judging -----------------------------------------------------------------------


def pack(material: Any, options: argparse.Namespace) -> None:
    """Grade the answers on file and keep them: the one step that reads gold for good."""
    known = {graded.task.task_id: graded for graded in material.tasks(options.n)}
    answers = rows(options.to / ANSWERS)
    with boxed(material) as box:
        for row in answers:
            kind, _, task_id = row["item"].partition("/")
            if kind == "real":
                row["right"] = row["outcome"] == "answered" and material.is_right(
                    known[task_id], row["answer"], box
                )
    asked = {row["item"].partition("/")[2] for row in answers}
    size = recordings.pack(
        RECORDED / f"{options.material}.jsonl.gz",
        tasks=[graded.task for task_id, graded in known.items() if task_id in asked],
        answers=answers,
        looks=rows(options.to / LOOKS),
    )
    real_tables.say(f"{len(answers)} answers kept in {size} bytes")


def unpack(material: Any, options: argparse.Namespace) -> None:
    """Lay a kept recording out again as the files that `record`, `look` and `pack` go on from."""
    recording = recordings.unpack(RECORDED / f"{options.material}.jsonl.gz")
    options.to.mkdir(parents=True)
    for name, kept in ((ANSWERS, recording.answers.values()), (LOOKS, recording.looks)):
        for row in kept:
            append(options.to / name, row)


def show(material: Any, options: argparse.Namespace) -> None:
    """`judge`: checks and referee one by one; `channels`: every channel in one table."""
    recording = recordings.unpack(RECORDED / f"{options.material}.jsonl.gz")
    with boxed(material) as box:
        sheet = sheet_of(material, recording, box)
    printing = real_tables.print_checks if options.step == "judge" else real_tables.print_channels
    printing(sheet)
    real_tables.print_verdicts(material, sheet)


@contextmanager
def boxed(material: Any) -> Iterator[Box | None]:
    """Where code is tried; nothing where answers are none."""
    if material.spec.kind != "code":
        yield None
        return
    with launched("S3") as box:
        yield box


STEPS = {
    "record": record,
    "look": look,
    "pack": pack,
    "unpack": unpack,
    "judge": show,
    "channels": show,
}


def main() -> int:
    """One step on one material."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("step", choices=sorted(STEPS))
    parser.add_argument("material", choices=sorted(MATERIALS))
    parser.add_argument("--wheel", type=Path, help="the wheel the tasks come from")
    parser.add_argument("--to", type=Path, help="the folder of a recording that is being made")
    parser.add_argument("--replies", type=Path, help="keep every reply here, and ask none twice")
    parser.add_argument("--n", type=int, default=96)
    parser.add_argument("--kind", action="append", choices=KINDS)
    parser.add_argument("--look", action="append", choices=sorted(looks.LOOKS))
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    options = parser.parse_args()
    material = MATERIALS[options.material](options.wheel)
    STEPS[options.step](material, options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
