"""One round as a LangGraph line: measure -> diagnose -> propose (fan-out) -> admit -> race -> keep.

The state carries ids only; every paid unit of work stands in the ledger under its content key, so
a node that runs again finds it done. The checkpoint file is for interrupts, not a second truth.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any, TypedDict

from harnesspro.core.decide import RunRound
from harnesspro.core.findings import Diagnosis, per_thousand_tasks
from harnesspro.core.hashing import content_hash
from harnesspro.core.records import Patch, Task, Trial
from harnesspro.loop import scan
from harnesspro.loop.alarms import shown
from harnesspro.loop.bench import Bench
from harnesspro.loop.live import next_parents, tried
from harnesspro.loop.racing import run_race
from harnesspro.loop.watching import watch
from harnesspro.proposers.question import Question
from harnesspro.stages.diagnose import diagnose
from harnesspro.stages.evaluate import jobs_for
from harnesspro.stages.propose import Admission, admit, propose

N_GLANCE = 6
"""Tasks after which the first findings are shown: enough for the detectors to speak."""


class RoundState(TypedDict, total=False):
    """What travels along the line."""

    index: int
    parent_ids: list[str]
    n_new: int
    proposed_for: Annotated[list[str], operator.add]
    candidate_ids: list[str]
    promoted_ids: list[str]


class ParentState(TypedDict):
    """What one branch of the fan-out is given."""

    index: int
    parent_id: str


def run_round(bench: Bench, command: RunRound) -> None:
    """Run one round to its record in the ledger.

    Raises:
        Cut: time, money or the user ended it; everything measured is on record.
    """
    start: RoundState = {
        "index": command.index,
        "parent_ids": list(command.parent_ids),
        "n_new": command.n_new,
        "proposed_for": [],
    }
    thread = f"{bench.run_id}/{command.index}/{bench.ports.clock.now():.3f}"
    config: Any = {"configurable": {"thread_id": thread}, "max_concurrency": 1}
    with _graph(bench) as graph:
        graph.invoke(start, config)


@contextmanager
def _graph(bench: Bench) -> Iterator[Any]:
    from langgraph.checkpoint.sqlite import SqliteSaver
    from langgraph.graph import END, START, StateGraph
    from langgraph.types import Send

    line = _RoundLine(bench)

    def branches(state: RoundState) -> list[Any]:
        index = state["index"]
        return [
            Send("propose", {"index": index, "parent_id": parent_id})
            for parent_id in state["parent_ids"]
        ]

    graph = StateGraph(RoundState)
    graph.add_node("measure", line.measure)
    graph.add_node("diagnose", line.diagnose)
    graph.add_node("propose", line.propose)
    graph.add_node("admit", line.admit)
    graph.add_node("race", line.race)
    graph.add_node("keep", line.keep)
    graph.add_edge(START, "measure")
    graph.add_edge("measure", "diagnose")
    graph.add_conditional_edges("diagnose", branches, ["propose"])
    graph.add_edge("propose", "admit")
    graph.add_edge("admit", "race")
    graph.add_edge("race", "keep")
    graph.add_edge("keep", END)
    with SqliteSaver.from_conn_string(str(bench.run_dir / "graph.db")) as saver:
        yield graph.compile(checkpointer=saver)


class _RoundLine:
    """The nodes; each writes its facts and returns ids."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench

    def _phase(self, name: str, state: RoundState) -> None:
        self.bench.ports.events.emit(
            "phase", name=name, round=state["index"] + 1, n_rounds=self.bench.config.n_rounds
        )

    def measure(self, state: RoundState) -> RoundState:
        """All search tasks for the parents; the baseline also against itself on the first block."""
        self._phase("measure", state)
        bench = self.bench
        first = bench.search[: bench.config.first_block]
        if state["index"] == 0:
            self._glance(self._evaluate([bench.base.harness_id], bench.search[:N_GLANCE]))
        self._evaluate([bench.base.harness_id], bench.search)
        if state["index"] == 0 and bench.config.n_repeats == 1:
            again = jobs_for([bench.base], first, draws=("search/1",), models=bench.config.models)
            bench.run(again)
        self._evaluate(state["parent_ids"], bench.search)
        return {}

    def _evaluate(self, harness_ids: list[str], tasks: tuple[Task, ...]) -> tuple[Trial, ...]:
        bench = self.bench
        harnesses = [bench.harness(harness_id) for harness_id in harness_ids]
        jobs = jobs_for(harnesses, tasks, draws=bench.search_draws, models=bench.config.models)
        return bench.run(jobs)

    def _glance(self, trials: tuple[Trial, ...]) -> None:
        """Say what the first tasks already show; the findings on record come from all of them."""
        self._say_findings(diagnose(self.bench.base, trials, self.bench.ports.ledger), most=3)

    def _say_findings(self, found: Diagnosis, *, most: int) -> None:
        for finding in found.findings[:most]:
            self.bench.ports.events.emit(
                "finding",
                pattern=finding.pattern,
                part=finding.part,
                usd_per_1000=per_thousand_tasks(finding, found.n_trials),
                lost_success=finding.lost_success,
            )

    def diagnose(self, state: RoundState) -> RoundState:
        """Findings of each parent, once."""
        self._phase("diagnose", state)
        bench = self.bench
        for parent_id in state["parent_ids"]:
            if bench.ports.ledger.get("finding", parent_id) is not None:
                continue
            trials = [
                trial
                for trial in scan.trials_of(bench, "search")
                if trial.harness_id == parent_id and trial.draw in bench.search_draws
            ]
            found = diagnose(bench.harness(parent_id), trials, bench.ports.ledger)
            bench.ports.ledger.put("finding", parent_id, found.model_dump(mode="json"))
            self._say_findings(found, most=5)
        return {}

    def propose(self, state: ParentState) -> RoundState:
        """One branch: every proposer's patches for one parent, on record.

        Raises:
            Cut: the run must stop; nothing is recorded, so a resumed run asks again.
        """
        bench, key = self.bench, f"{state['index']:03d}/{state['parent_id']}"
        if bench.ports.ledger.get("proposal", key) is None:
            question = self._question(state)
            patches = propose(question, bench.ports.proposers, directions=bench.config.directions)
            cut = bench.cut_now()
            if cut is not None:  # who was stopped in mid-thought has not said all
                raise cut
            value = [patch.model_dump(mode="json") for patch in patches]
            bench.ports.ledger.put("proposal", key, value)
        return {"proposed_for": [state["parent_id"]]}

    def _question(self, state: ParentState) -> Question:
        bench = self.bench
        return Question(
            parent=bench.harness(state["parent_id"]),
            base=bench.base,
            findings=scan.diagnosis(bench, state["parent_id"]).findings,
            history=tried(bench),
            round_index=state["index"],
            n_rounds=bench.config.n_rounds,
            seed=bench.config.seed,
            models=bench.config.models,
            checks=shown(bench, state["parent_id"], round_index=state["index"]),
        )

    def admit(self, state: RoundState) -> RoundState:
        """The join: parents take turns until the round's room is used."""
        self._phase("propose", state)
        bench, index = self.bench, state["index"]
        # Candidates of this very round do not count: a node that runs again makes them again.
        known = {c.candidate_id for c in scan.candidates(bench).values() if c.round_index < index}
        made: list[str] = []
        share = -(-state["n_new"] // len(state["parent_ids"]))
        for parent_id in state["parent_ids"]:
            room = min(share, state["n_new"] - len(made))
            made += self._admit_for(parent_id, index=index, known=known | set(made), n_new=room)
        return {"candidate_ids": made}

    def _admit_for(self, parent_id: str, *, index: int, known: set[str], n_new: int) -> list[str]:
        bench = self.bench
        raw = bench.ports.ledger.get("proposal", f"{index:03d}/{parent_id}") or []
        generation = scan.candidates(bench)[parent_id].generation + 1
        admission = Admission(
            apply_patch=bench.ports.apply_patch,
            search_tasks=bench.search,
            unseen_tasks=(*bench.confirm, *bench.sealed),
            known_ids=frozenset(known),
        )
        admitted, refused = admit(
            [Patch.model_validate(patch) for patch in raw],
            bench.harness(parent_id),
            admission,
            generation=generation,
            round_index=index,
            n_new=n_new,
        )
        for refusal in refused:
            value = refusal.model_dump(mode="json")
            bench.ports.ledger.put("refusal", content_hash(value), value)
            bench.ports.events.emit("refused", summary=refusal.patch.summary, reason=refusal.reason)
        for one in admitted:
            bench.ports.trees.put(one.harness, message=one.candidate.summary)
            bench.ports.ledger.put(
                "candidate", one.candidate.candidate_id, one.candidate.model_dump(mode="json")
            )
            bench.ports.events.emit(
                "candidate",
                id=one.candidate.candidate_id,
                summary=one.candidate.summary,
                proposer=one.candidate.proposer,
            )
        return [one.candidate.candidate_id for one in admitted]

    def race(self, state: RoundState) -> RoundState:
        """Blocks of search tasks until every candidate is promoted, open or dropped.

        Where the score rises and monitor probes do not, the next round starts from the last incumbent on
        which both agreed.
        """
        self._phase("race", state)
        if state["candidate_ids"]:
            run_race(self.bench, state["candidate_ids"], round_index=state["index"])
        back_to = watch(self.bench, round_index=state["index"])
        if back_to is not None:
            return {"promoted_ids": [back_to]}
        coming = next_parents(self.bench, round_index=state["index"] + 1)
        return {"promoted_ids": list(coming)}

    def keep(self, state: RoundState) -> RoundState:
        """The round's facts: the only thing the next scan needs."""
        bench = self.bench
        bench.ports.ledger.put(
            "round",
            f"{state['index']:03d}",
            {
                "index": state["index"],
                "parent_ids": state["parent_ids"],
                "candidate_ids": state["candidate_ids"],
                "promoted_ids": state["promoted_ids"],
            },
        )
        return {}
