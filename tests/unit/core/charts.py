"""Maps of a run, made in one line: laws of invented rows, candidates, verdicts."""

from typing import Any

from harnesspro.core.front import law
from harnesspro.core.records import Candidate, Estimate, Patch, Verdict
from harnesspro.core.report import Map
from harnesspro.core.table import Row

N = 60
BASE_COST = 0.002


def rows(cost=1.0, *, changed=0, merit=1.0, n=N):
    """So many times the original's cost; the first `changed` answers differ and have this merit."""
    return {
        f"t{i:02d}": Row(
            task_id=f"t{i:02d}",
            cluster=f"new-{cost}" if i < changed else "same",
            answered=True,
            merit=merit if i < changed else 1.0,
            cost_usd=BASE_COST * cost,
            latency_s=cost,
        )
        for i in range(n)
    }


def a_law(*, n_compared=None, trusted=False, n=N, **candidates):
    table = {"base": rows(n=n), **candidates}
    return law(table, "base", seed=1, n_boot=200, n_compared=n_compared, trusted=trusted)


def a_candidate(name, *, parent="base", summary="ask once"):
    patch = Patch(
        parent_id=parent,
        knobs={"samples": 1},
        direction="cost",
        proposer="operator:x",
        summary=summary,
    )
    return Candidate(
        candidate_id=name,
        parent_id=parent,
        generation=1,
        round_index=0,
        patch=patch,
        summary=summary,
        proposer="operator:x",
    )


BASELINE = Candidate(
    candidate_id="base",
    parent_id=None,
    generation=0,
    round_index=-1,
    patch=None,
    summary="the harness as it came",
    proposer="user",
)


def a_chart(search, *others, **changes):
    """A map of these candidates; names alone make plain candidates."""
    made = [one if isinstance(one, Candidate) else a_candidate(one) for one in others]
    base: dict[str, Any] = {
        "known": {one.candidate_id: one for one in (BASELINE, *made)},
        "search": search,
        "confirm": None,
        "verdicts": (),
        "accuracy": {},
        "isolation": "S3",
        "complexity": {},
    }
    return Map(**(base | changes))


def a_verdict(name, kind="accept", **changes):
    base = {
        "candidate_id": name,
        "kind": kind,
        "claim": "cost",
        "route": "agreement",
        "n": 64,
        "n_changed": 0,
        "changed_upper": 0.0457,
        "base_disagreement": 0.1,
        "cost_ratio": Estimate(mean=0.5, low=0.482, high=0.519, n=64),
        "log_cost_ratio": None,
        "cheaper": True,
        "not_worse": True,
        "smallest_margin": 0.0457,
        "n_more_tasks": 0,
        "reason": "0 of 64 answers changed; not worse by more than 5 points, and it is cheaper",
    }
    return Verdict.model_validate(base | changes)
