"""Trajectories in ATIF 1.8: readable by others, and back to ours without loss."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import JsonValue

from harnesspro.core.errors import IntegrityError
from harnesspro.core.records import Step, Trajectory, Trial, Usage
from harnesspro.store.trajectories import (
    from_atif,
    read_trajectory,
    to_atif,
    write_trajectory,
)

SYSTEM: JsonValue = {"role": "system", "content": "Be brief."}
ASK: JsonValue = {"role": "user", "content": "2+2?"}
SAID: JsonValue = {"role": "assistant", "content": "5"}
RETRY: JsonValue = {"role": "user", "content": [{"type": "text", "text": "Sure?"}]}


def step(index: int, reply: str, *messages: JsonValue) -> Step:
    return Step(
        index=index,
        role="writer",
        model="sim/small",
        request={"messages": list(messages), "temperature": 0.7},
        reply=reply,
        finish_reason="stop",
        usage=Usage(uncached_in_tokens=10, cache_read_tokens=5, out_tokens=3),
        cost_nanos=2_500,
        latency_s=0.5,
        replayed=index == 1,
    )


def trajectory(*steps: Step) -> Trajectory:
    usage = sum((s.usage for s in steps), Usage())
    trial = Trial(
        trial_id="t-1",
        harness_id="h-1",
        task_id="task-1",
        draw="search/0",
        outcome="answered" if steps else "crashed",
        answer="4" if steps else None,
        usage=usage,
        cost_nanos=2_500 * len(steps),
    )
    return Trajectory(trial=trial, steps=steps)


TWO_CALLS = trajectory(step(0, "5", SYSTEM, ASK), step(1, "4", SYSTEM, ASK, SAID, RETRY))


def test_each_message_stands_once_and_each_reply_is_an_agent_step() -> None:
    document = to_atif(TWO_CALLS, agent_name="toy")
    assert [(s["step_id"], s["source"], s["message"]) for s in document["steps"]] == [
        (1, "system", "Be brief."),
        (2, "user", "2+2?"),
        (3, "agent", "5"),
        (4, "user", '[{"text":"Sure?","type":"text"}]'),
        (5, "agent", "4"),
    ]
    assert document["steps"][2]["metrics"] == {
        "prompt_tokens": 15,
        "completion_tokens": 3,
        "cached_tokens": 5,
        "cost_usd": 2.5e-06,
    }


def test_the_head_of_the_document_is_atif() -> None:
    document = to_atif(TWO_CALLS, agent_name="toy")
    assert {k: document[k] for k in ("schema_version", "session_id", "agent", "final_metrics")} == {
        "schema_version": "ATIF-v1.8",
        "session_id": "t-1",
        "agent": {"name": "toy", "version": "h-1", "model_name": "sim/small"},
        "final_metrics": {
            "total_prompt_tokens": 30,
            "total_completion_tokens": 6,
            "total_cached_tokens": 10,
            "total_cost_usd": 5e-06,
            "total_steps": 5,
        },
    }


@pytest.mark.parametrize("kept", [TWO_CALLS, trajectory()], ids=["two calls", "no call"])
def test_what_was_written_is_read_back(tmp_path: Path, kept: Trajectory) -> None:
    path = write_trajectory(tmp_path, kept, agent_name="toy")
    assert path == tmp_path / "trajectories" / "t-1.json"
    assert read_trajectory(tmp_path, "t-1") == kept


def test_a_trial_without_calls_still_has_a_step() -> None:
    assert to_atif(trajectory(), agent_name="toy")["steps"] == [
        {"step_id": 1, "source": "system", "message": "no model call; crashed"}
    ]


def test_documents_from_elsewhere_are_refused(tmp_path: Path) -> None:
    with pytest.raises(IntegrityError, match="No such file"):
        read_trajectory(tmp_path, "t-1")
    with pytest.raises(IntegrityError, match=r"there: 'extra'; expected ATIF-v1\.8"):
        from_atif({"steps": []}, where="there")
    with pytest.raises(IntegrityError, match="no trial id"):
        read_trajectory(tmp_path, "a/b")
