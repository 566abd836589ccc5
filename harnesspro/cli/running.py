"""The verbs that run harnesses: improve, eval, diagnose, doctor."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import typer

from harnesspro.cli.output import event_lines, put_json
from harnesspro.core.errors import UsageError

HARNESS = typer.Argument(..., help="A harness folder, or builtin:NAME.")
TASKS = typer.Option(None, "--tasks", help="tasks.jsonl, a sealed folder, or builtin:NAME.")
MODEL = typer.Option(None, "--model", help="ROLE=MODEL; again for each role.")
SEED = typer.Option(None, "--seed", help="Of splits, races and drawn tasks.")
OUT = typer.Option(None, "--out", help="Where runs are kept (default .harnesspro).")
JSON = typer.Option(False, "--json", help="One JSON document on stdout.")
QUIET = typer.Option(False, "-q", "--quiet", help="No progress on stderr.")
CONCURRENCY = typer.Option(None, "--concurrency", help="Trials at once.")
REPEATS = typer.Option(None, "--repeats", help="Draws a task.")
UNSANDBOXED = typer.Option(
    None,
    "--allow-unsandboxed",
    help="Run harness code without isolation where there is none; stamped S0.",
)
N_TASKS = typer.Option(None, "--n-tasks", help="How many tasks to run.")
CHANNEL = typer.Option(
    None,
    "--channel",
    help="What judges answers beside checks: panel=MODEL, judge=MODEL or verifier=URL; repeatable.",
)


PRICES = typer.Option(
    None,
    "--prices",
    envvar="HARNESSPRO_PRICES",
    metavar="FILE",
    help="Prices of your own: YAML, dollars for a million tokens.",
)


EVENTS = typer.Option(
    None, "--events", metavar="FILE", help="Append what happens to FILE, one JSON object a line."
)


def register(app: typer.Typer) -> None:
    """Add the verbs."""
    app.command("improve")(improve)
    app.command("eval")(evaluate)
    app.command("diagnose")(diagnose)
    app.command("doctor")(doctor)


def improve(
    harness: str | None = typer.Argument(None, help="A harness folder, or builtin:NAME."),
    tasks: str | None = TASKS,
    model: list[str] | None = MODEL,
    improver_model: str | None = typer.Option(
        None, "--improver-model", help="The planner's brain; without it the core works alone."
    ),
    channel: list[str] | None = CHANNEL,
    prices: str | None = PRICES,
    probes: int | None = typer.Option(
        None,
        "--probes",
        min=0,
        help="Generated tasks the judging is measured on at most (0: never).",
    ),
    controls: bool | None = typer.Option(
        None,
        "--controls",
        help="Measure the original asked twice, the better answer taken, beside the picks.",
    ),
    rounds: int | None = typer.Option(None, "--rounds", min=1, help="Rounds of search."),
    budget_usd: float | None = typer.Option(None, "--budget-usd", help="Cap of the whole run."),
    time_limit: float | None = typer.Option(None, "--time-limit", help="Minutes."),
    margin: float | None = typer.Option(
        None, "--margin", help="Points of accuracy a change may cost at most (default 5)."
    ),
    direction: str | None = typer.Option(
        None, "--direction", help="What changes may go for: cost, success, or both (the default)."
    ),
    max_candidates: int | None = typer.Option(
        None, "--max-candidates", min=1, help="Variants raced in all rounds together."
    ),
    n_search: int | None = typer.Option(None, "--n-search", help="Search tasks."),
    n_confirm: int | None = typer.Option(None, "--n-confirm", help="Confirm tasks."),
    repeats: int | None = REPEATS,
    concurrency: int | None = CONCURRENCY,
    seed: int | None = SEED,
    gold: bool = typer.Option(
        True, "--gold/--no-gold", help="Open the vault once, after the verdicts, where gold is."
    ),
    resume: str | None = typer.Option(None, "--resume", metavar="RUN", help="Go on with a run."),
    dry_run: bool = typer.Option(False, "--dry-run", help="Print the plan; run nothing."),
    allow_unsandboxed: bool | None = UNSANDBOXED,
    events: str | None = EVENTS,
    out: str | None = OUT,
    as_json: bool = JSON,
    quiet: bool = QUIET,
) -> int:
    """Make a harness cheaper and better, and say how sure that is."""
    from harnesspro.cli import session

    limits = {
        "budget_usd": budget_usd,
        "time_limit_s": None if time_limit is None else 60 * time_limit,
    }
    if resume is not None:
        _refuse_beside_resume(
            {
                "HARNESS": harness,
                "--tasks": tasks,
                "--model": model,
                "--improver-model": improver_model,
                "--channel": channel,
                "--probes": probes,
                "--controls": controls,
                "--rounds": rounds,
                "--margin": margin,
                "--direction": direction,
                "--max-candidates": max_candidates,
                "--n-search": n_search,
                "--n-confirm": n_confirm,
                "--repeats": repeats,
                "--seed": seed,
                "--dry-run": dry_run or None,
                "--allow-unsandboxed": allow_unsandboxed,
            }
        )
        changes = limits | {"concurrency": concurrency, "open_gold": None if gold else False}
        with event_lines(events) as fd:
            return session.resume_run(
                resume, changes, out=out, as_json=as_json, quiet=quiet, events_fd=fd
            )
    if harness is None:
        raise UsageError("improve", "no HARNESS", expected="a folder or builtin:NAME")
    flags = limits | {
        "tasks_ref": tasks,
        "models": parse_models(model),
        "improver_model": improver_model,
        "channels": parse_channels(channel),
        "prices": prices,
        "n_probes": probes,
        "controls": controls,
        "n_rounds": rounds,
        "margin": None if margin is None else margin / 100,
        "directions": parse_directions(direction),
        "max_candidates": max_candidates,
        "n_search": n_search,
        "n_confirm": n_confirm,
        "n_repeats": repeats,
        "concurrency": concurrency,
        "seed": seed,
        "open_gold": gold,
        "allow_unsandboxed": allow_unsandboxed,
    }
    if dry_run:
        return session.dry_run(harness, flags, out=out, as_json=as_json)
    with event_lines(events) as fd:
        return session.new_run(
            harness, flags, verb="improve", out=out, as_json=as_json, quiet=quiet, events_fd=fd
        )


def _refuse_beside_resume(options: Mapping[str, Any]) -> None:
    """A run goes on as it began: only its caps, its pace and the opening of the vault may change."""
    given = [name for name, value in options.items() if value not in (None, [])]
    if given:
        raise UsageError(
            "--resume",
            f"also {', '.join(given)}",
            expected="at most --budget-usd, --time-limit, --concurrency and --no-gold beside it",
            fix="leave the rest out, or start a new run",
        )


def evaluate(
    harness: str = HARNESS,
    tasks: str | None = TASKS,
    model: list[str] | None = MODEL,
    n_tasks: int | None = N_TASKS,
    repeats: int | None = REPEATS,
    gold: bool = typer.Option(
        False, "--gold", help="Open the vault once (counted) and print accuracy."
    ),
    concurrency: int | None = CONCURRENCY,
    prices: str | None = PRICES,
    seed: int | None = SEED,
    allow_unsandboxed: bool | None = UNSANDBOXED,
    out: str | None = OUT,
    as_json: bool = JSON,
    quiet: bool = QUIET,
) -> int:
    """Run and score a harness without changing it."""
    from harnesspro.cli import session

    flags = {
        "tasks_ref": tasks,
        "models": parse_models(model),
        "n_search": n_tasks,
        "n_repeats": repeats,
        "concurrency": concurrency,
        "prices": prices,
        "seed": seed,
        "open_gold": gold,
        "allow_unsandboxed": allow_unsandboxed,
    }
    return session.new_run(harness, flags, verb="eval", out=out, as_json=as_json, quiet=quiet)


def diagnose(
    target: str = typer.Argument(..., help="A harness folder, builtin:NAME, or a RUN."),
    tasks: str | None = TASKS,
    model: list[str] | None = MODEL,
    n_tasks: int | None = N_TASKS,
    concurrency: int | None = CONCURRENCY,
    prices: str | None = PRICES,
    seed: int | None = SEED,
    allow_unsandboxed: bool | None = UNSANDBOXED,
    out: str | None = OUT,
    as_json: bool = JSON,
    quiet: bool = QUIET,
) -> int:
    """Say where the money and the success of a harness go."""
    from harnesspro.cli import session

    if session.is_run(target, out=out):
        return session.diagnose_run(target, out=out, as_json=as_json)
    flags = {
        "tasks_ref": tasks,
        "models": parse_models(model),
        "n_search": n_tasks,
        "concurrency": concurrency,
        "prices": prices,
        "seed": seed,
        "open_gold": False,
        "allow_unsandboxed": allow_unsandboxed,
    }
    return session.new_run(target, flags, verb="diagnose", out=out, as_json=as_json, quiet=quiet)


def doctor(
    harness: str | None = typer.Argument(None, help="Also check this harness."),
    tasks: str | None = TASKS,
    model: list[str] | None = MODEL,
    channel: list[str] | None = CHANNEL,
    prices: str | None = PRICES,
    as_json: bool = JSON,
) -> int:
    """Say what this machine can guarantee, and whether a harness could run here now."""
    from harnesspro.cli.checkup import examine, print_checkup

    flags = {
        "tasks_ref": tasks,
        "models": parse_models(model),
        "channels": parse_channels(channel),
        "prices": prices,
    }
    checkup = examine(harness, flags)
    if as_json:
        put_json(checkup)
    else:
        print_checkup(checkup)
    return 0 if checkup["ok"] else 3


def parse_models(options: list[str] | None) -> dict[str, str]:
    """`ROLE=MODEL` options as a mapping.

    Raises:
        UsageError: an option has no `=`.
    """
    chosen: dict[str, str] = {}
    for option in options or []:
        role, separator, name = option.partition("=")
        if not separator or not role or not name:
            raise UsageError(
                f"--model {option}", "no ROLE=MODEL", fix="e.g. writer=openai/gpt-5-mini"
            )
        chosen[role] = name
    return chosen


def parse_channels(options: list[str] | None) -> tuple[str, ...] | None:
    """`KIND=ID` options as channel names, `KIND:ID`; None where there is none.

    Raises:
        UsageError: an option has no `=`, no id, or an unknown kind.
    """
    from harnesspro.config import CHANNEL_KINDS

    names = []
    for option in options or []:
        kind, _, what = option.partition("=")
        if kind not in CHANNEL_KINDS:
            raise UsageError(
                f"--channel {option}",
                "no such kind of channel",
                expected=" or ".join(f"{known}=…" for known in CHANNEL_KINDS),
            )
        if not what.strip():
            needed = "URL" if kind == "verifier" else "MODEL"
            raise UsageError(f"--channel {option}", f"no {needed}", fix=_CHANNEL_EXAMPLES[kind])
        names.append(f"{kind}:{what.strip()}")
    return tuple(names) or None


_CHANNEL_EXAMPLES = {
    "panel": "e.g. panel=openai/gpt-5-mini",
    "judge": "e.g. judge=openai/gpt-5-mini",
    "verifier": "e.g. verifier=http://127.0.0.1:8000/verify",
}


def parse_directions(option: str | None) -> tuple[Any, ...] | None:
    """`cost,success` as a tuple.

    Raises:
        UsageError: another word.
    """
    if option is None:
        return None
    words = tuple(dict.fromkeys(word.strip() for word in option.split(",") if word.strip()))
    if not words or not set(words) <= {"cost", "success"}:
        raise UsageError(f"--direction {option}", "not a direction", expected="cost, success")
    return words
