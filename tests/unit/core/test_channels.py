from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harnesspro.core.calibration import ProbeAnswer, ProbeRow
from harnesspro.core.channels import LEAST_PROBES, NAIVE, kind_of, measure_channel
from harnesspro.core.records import Channel, ChannelKind

NAME = "judge:sim/other"
Rng = np.random.Generator
Say = Callable[[Sequence[ProbeAnswer], Rng], dict[str, float]]


def answer(
    cluster: str,
    *,
    right: bool,
    answered: bool = True,
    chars: int = 10,
    s: float = 1.0,
    usd: float = 0.01,
) -> ProbeAnswer:
    return ProbeAnswer(f"h-{cluster}", cluster, right, answered, chars, s, usd)


def row(n: int, answers: Sequence[ProbeAnswer], scores: dict[str, float] | None) -> ProbeRow:
    return ProbeRow(f"p{n}", tuple(answers), {} if scores is None else {NAME: scores})


def pair(n: int, *, right: float, wrong: float) -> ProbeRow:
    """Two answers that differ in nothing but their rightness, the initial harness's in turn right."""
    answers = [answer("r", right=True), answer("w", right=False)]
    return row(n, answers[:: 1 if n % 2 else -1], {"r": right, "w": wrong})


def pairs(n_for: int, n_against: int = 0, n_silent: int = 0) -> list[ProbeRow]:
    said = [(1.0, 0.0)] * n_for + [(0.0, 1.0)] * n_against + [(1.0, 1.0)] * n_silent
    return [pair(n, right=r, wrong=w) for n, (r, w) in enumerate(said)]


def measured(rows: Sequence[ProbeRow], kind: ChannelKind = "judge") -> Channel:
    return measure_channel(NAME, kind, rows, seed=7)


def test_a_channel_that_is_always_right_is_admitted_with_what_it_beats() -> None:
    channel = measured(pairs(40))
    assert channel.auc is not None
    assert channel.pick_gain is not None
    assert (channel.auc.mean, channel.auc.n, channel.silent) == (1.0, 40, 0.0)
    assert channel.pick_gain.mean == 0.5
    assert 0.35 < channel.pick_gain.low < 0.45
    assert channel.admitted
    assert channel.reason.startswith("beats chance by 50 points (at least ")
    assert channel.reason.endswith(
        "on 40 probes; picking by it gives 50 more right answers in 100 (at least 39)"
    )


def test_a_channel_silent_everywhere_has_no_numbers_and_is_not_admitted() -> None:
    reason = "silent on every probe that has both a right and a wrong answer, and 12 are asked for"
    assert measured(pairs(0, 0, 40)) == Channel(name=NAME, kind="judge", silent=1.0, reason=reason)


def test_a_channel_is_measured_where_it_speaks() -> None:
    channel = measured(pairs(18, 2, 60))
    assert channel.auc is not None
    assert (channel.auc.mean, channel.auc.n, channel.silent) == (0.9, 20, 0.75)
    assert channel.admitted
    assert channel.reason.startswith(
        "silent on 75 % of probes; beats chance by 40 points (at least "
    )


def test_a_channel_that_hardly_ever_speaks_is_not_admitted_however_right() -> None:
    short = measured(pairs(LEAST_PROBES - 1, 0, 99))
    assert not short.admitted
    assert short.reason == (
        "silent on 90 % of probes; it tells answers apart on 11 probes only, and 12 are asked for"
    )
    assert measured(pairs(LEAST_PROBES, 0, 99)).admitted


@pytest.mark.parametrize(
    "rows",
    [
        [],
        [row(0, [answer("r", right=True)], {"r": 1.0})],
        [row(0, [answer("v", right=False), answer("w", right=False)], {"v": 1.0, "w": 0.0})],
        [row(0, [answer("r", right=True), answer("none", right=False, answered=False)], None)],
    ],
    ids=["no probe", "one answer", "both wrong", "one answer and none"],
)
def test_no_probe_with_a_right_and_a_wrong_answer_gives_a_channel_without_numbers(
    rows: list[ProbeRow],
) -> None:
    reason = "no probe has both a right and a wrong answer"
    assert measured(rows) == Channel(name=NAME, kind="judge", reason=reason)


def test_no_answer_is_wrong_and_put_last_though_the_channel_never_saw_it() -> None:
    answers = [
        answer("r", right=True, chars=4),
        answer("w", right=False, chars=9),
        answer("none", right=False, answered=False, chars=0),
    ]
    channel = measured([row(0, answers, {"r": 0.2, "w": 0.7})])
    assert channel.auc is not None
    assert channel.pick_gain is not None
    assert (channel.auc.mean, channel.pick_gain.mean) == (0.5, -0.5)
    assert channel.baselines == {
        "random": 0.5,
        "first": 1.0,
        "well-formed": 0.75,
        "longest": 0.5,
        "shortest": 0.5,
        "fastest": 0.5,
        "slowest": 0.5,
        "cheapest": 0.5,
        "dearest": 0.5,
    }


def test_naive_rules_read_length_latency_and_cost_either_way() -> None:
    answers = [
        answer("w", right=False, chars=3, s=2.0, usd=0.01),
        answer("r", right=True, chars=8, s=1.0, usd=0.02),
    ]
    assert measured([row(0, answers, {"r": 1.0, "w": 0.0})]).baselines == {
        "random": 0.5,
        "first": 0.0,
        "well-formed": 0.5,
        "longest": 1.0,
        "shortest": 0.0,
        "fastest": 1.0,
        "slowest": 0.0,
        "cheapest": 0.0,
        "dearest": 1.0,
    }


def test_a_judge_that_does_not_speak_of_every_answer_is_silent_on_that_probe() -> None:
    answers = [answer("r", right=True), answer("w", right=False)]
    assert measured([row(0, answers, {"r": 0.9})]).silent == 1.0
    panel = measured([row(0, answers, {"r": 0.9})], "panel")
    assert panel.auc is not None
    assert (panel.silent, panel.auc.mean) == (0.0, 1.0)


def test_ties_at_the_top_are_split_among_answers_not_clusters() -> None:
    answers = [
        answer("r", right=True),
        answer("r", right=True),
        answer("w", right=False),
        answer("v", right=False),
    ]
    channel = measured([row(0, answers, {"r": 1.0, "w": 1.0, "v": 0.0})])
    assert channel.auc is not None
    assert channel.pick_gain is not None
    assert channel.auc.mean == 0.75
    assert channel.pick_gain.mean == pytest.approx(2 / 3 - 1 / 2)


def test_a_channel_that_beats_no_naive_rule_says_which_one_it_fails_against() -> None:
    rows = [
        row(
            n,
            [answer("r", right=True, chars=5), answer("w", right=False, chars=9)][:: (-1) ** n],
            {"r": 1.0, "w": 0.0},
        )
        for n in range(40)
    ]
    channel = measured(rows)
    assert not channel.admitted
    assert channel.reason == "level with taking the shortest answer on 40 probes"


def test_the_owners_checks_stay_unless_they_are_shown_to_refuse_the_right_answers() -> None:
    for rows in ([], pairs(0, 0, 30), pairs(15, 15), pairs(10, 14)):
        channel = measured(rows, "user")
        assert channel.admitted
        assert channel.reason.startswith("the owner's own checks; ")
    refused = measured(pairs(4, 26), "user")
    assert not refused.admitted
    assert refused.reason == (
        "the owner's own checks, but right answers pass less often than wrong ones on 30 probes: "
        "see what they ask for"
    )


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("user", "user"),
        ("checks", "checks"),
        ("panel:sim/other", "panel"),
        ("judge:openai/gpt-5-mini", "judge"),
        ("verifier:http://127.0.0.1:9/x", "verifier"),
    ],
)
def test_a_name_tells_its_kind(name: str, kind: str) -> None:
    assert kind_of(name) == kind


def test_another_name_is_no_channel() -> None:
    with pytest.raises(ValueError, match="'vibes:x' is no channel"):
        kind_of("vibes:x")


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=12))
def test_reversing_what_is_said_mirrors_the_auc(said: list[tuple[float, float]]) -> None:
    straight = measured([pair(n, right=r, wrong=w) for n, (r, w) in enumerate(said)])
    mirrored = measured([pair(n, right=1 - r, wrong=1 - w) for n, (r, w) in enumerate(said)])
    if straight.auc is None or mirrored.auc is None:
        assert straight.silent == mirrored.silent == 1.0
        return
    assert straight.auc.mean + mirrored.auc.mean == pytest.approx(1, abs=1e-6)


# --- worlds ------------------------------------------------------------------------------------


def share_admitted(
    say: Say, *, n_worlds: int, n_probes: int, seed: int, lengths: tuple[int, int] = (40, 40)
) -> float:
    """How often a channel that speaks by `say` is admitted; `lengths` of right and wrong answers."""
    rng = np.random.default_rng(seed)
    admitted = [
        measure_channel(
            NAME, "judge", world(say, n_probes, rng=rng, lengths=lengths), seed=n
        ).admitted
        for n in range(n_worlds)
    ]
    return sum(admitted) / n_worlds


def world(say: Say, n_probes: int, *, rng: Rng, lengths: tuple[int, int]) -> list[ProbeRow]:
    """Pairs of a right and a wrong answer; time and cost know nothing of which is which."""
    rows = []
    for n in range(n_probes):
        answers = [
            answer(key, right=key == "r", chars=int(chars), s=rng.random(), usd=rng.random())
            for key, chars in zip("rw", rng.normal(lengths, 8), strict=True)
        ]
        answers = answers[:: rng.choice([1, -1])]
        rows.append(row(n, answers, say(answers, rng)))
    return rows


def knows_nothing(answers: Sequence[ProbeAnswer], rng: Rng) -> dict[str, float]:
    return {found.cluster: float(rng.random()) for found in answers}


def likes_length(answers: Sequence[ProbeAnswer], rng: Rng) -> dict[str, float]:
    return {found.cluster: found.n_chars + float(rng.normal(0, 2)) for found in answers}


def right_on(accuracy: float) -> Say:
    def say(answers: Sequence[ProbeAnswer], rng: Rng) -> dict[str, float]:
        hit = rng.random() < accuracy
        return {found.cluster: float(found.right == hit) for found in answers}

    return say


def test_a_channel_without_information_is_hardly_ever_admitted() -> None:
    assert share_admitted(knows_nothing, n_worlds=50, n_probes=20, seed=1) <= 0.05
    assert share_admitted(right_on(0.5), n_worlds=50, n_probes=60, seed=2) <= 0.05


def test_a_channel_that_only_likes_long_answers_is_hardly_ever_admitted() -> None:
    assert share_admitted(likes_length, n_worlds=40, n_probes=60, seed=3, lengths=(50, 40)) <= 0.05


def test_a_channel_right_on_85_of_100_pairs_is_admitted() -> None:
    assert share_admitted(right_on(0.85), n_worlds=40, n_probes=60, seed=4) >= 0.90


def test_every_naive_rule_is_measured() -> None:
    assert measured(pairs(3)).baselines.keys() == NAIVE.keys()
