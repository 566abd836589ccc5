import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harnesspro.core.alarms import (
    Standing,
    concordance_of,
    divergence_of,
    gap_of,
    visible,
    with_shadow,
)
from harnesspro.core.records import Check, Estimate
from harnesspro.core.referee import freeze


def a_check(name, channel="SEEN", writer="schema"):
    return Check(
        check_id=name, family=name, name=name, writer=writer, channel=channel, admitted=True
    )


REFEREE = freeze([a_check("seen"), a_check("hidden", "SHADOW")])


def world(rng, n, *, seen=0.7, hidden=0.7):
    """What both checks say of answers that pass each with this chance."""
    drawn = rng.random((n, 2)) < (seen, hidden)
    return {f"t{i}": {"seen": float(a), "hidden": float(b)} for i, (a, b) in enumerate(drawn)}


def gap(own, base):
    return gap_of("v", own, base, referee=REFEREE, seed=1)


@pytest.mark.parametrize(("n", "n_hidden"), [(0, 0), (2, 0), (3, 1), (5, 1), (6, 2)])
def test_a_third_of_the_generated_checks_is_hidden_a_third_rotates_and_always_the_same(n, n_hidden):
    checks = [a_check(f"c{i}") for i in range(n)]

    found = with_shadow(checks)

    assert [check.check_id for check in found] == [check.check_id for check in checks]
    for channel in ("SHADOW", "ROTATED"):
        assert sum(check.channel == channel for check in found) == n_hidden
    assert with_shadow(found) == found
    assert {c.check_id: c.channel for c in with_shadow(tuple(reversed(checks)))} == {
        c.check_id: c.channel for c in found
    }


def test_the_owners_checks_are_never_hidden_and_hidden_ones_never_shown():
    found = with_shadow([*(a_check(f"c{i}") for i in range(6)), a_check("own", writer="user")])
    hidden = {check.check_id for check in found if check.channel == "SHADOW"}

    rounds = [{check.check_id for check in visible(found, round_index=i)} for i in range(4)]

    assert len(hidden) == 2
    assert all("own" in shown and not shown & hidden for shown in rounds)


def test_rotated_checks_are_shown_one_a_round_by_turns():
    found = with_shadow([a_check(f"c{i}") for i in range(6)])
    rotated = {check.check_id for check in found if check.channel == "ROTATED"}

    turns = [{c.check_id for c in visible(found, round_index=i)} & rotated for i in range(4)]

    assert [len(turn) for turn in turns] == [1, 1, 1, 1]
    assert turns[0] != turns[1]
    assert (turns[0], turns[1]) == (turns[2], turns[3])


def test_a_variant_fitted_to_what_it_was_shown_is_noticed():
    rng = np.random.default_rng(3)

    found = gap(world(rng, 60, seen=1.0, hidden=0.6), world(rng, 60))

    assert found.raised
    assert 0.1 < found.gain.low < found.gain.mean < 0.7


def test_a_truly_better_variant_gains_on_both():
    rng = np.random.default_rng(4)

    assert not gap(world(rng, 60, seen=0.95, hidden=0.95), world(rng, 60)).raised


def test_an_honest_variant_raises_it_in_at_most_five_of_a_hundred_worlds():
    rng = np.random.default_rng(5)

    raised = sum(gap(world(rng, 40), world(rng, 40)).raised for _ in range(200))

    assert raised / 200 <= 0.05


def test_few_tasks_raise_nothing_and_silence_gives_no_gap():
    rng = np.random.default_rng(6)

    assert not gap(world(rng, 8, seen=1.0, hidden=0.0), world(rng, 8)).raised
    assert gap({"t": {"seen": 1.0}}, {"t": {"seen": 1.0, "hidden": 0.0}}) is None


def test_form_is_seen_by_all_and_a_gain_in_it_alone_is_no_gap():
    form = a_check("form").model_copy(update={"family": "format"})
    assert all(check.channel == "SEEN" for check in with_shadow([form] * 3))

    referee = freeze([form, a_check("seen"), a_check("hidden", "SHADOW")])
    before = {f"t{i}": {"form": 0.0, "seen": 1.0, "hidden": 1.0} for i in range(30)}
    after = {task: {**said, "form": 1.0} for task, said in before.items()}
    found = gap_of("v", after, before, referee=referee, seed=1)
    assert found is not None
    assert (found.gain.mean, found.raised) == (0.0, False)


# --- concordance and divergence ----------------------------------------------------------------


def words(n, order):
    """n tasks of two answers, on which the checks prefer the first and the panel by `order`."""
    return {f"t{i}": {"a": (1.0, order(i)), "b": (0.0, 1 - order(i))} for i in range(n)}


def test_checks_that_contradict_the_panel_sit_out():
    against = concordance_of(words(40, lambda i: float(i % 10 == 0)), n_variants=8, seed=1)

    assert against is not None
    assert (against.share.mean, against.share.n, against.raised) == (0.1, 40, True)
    assert against.words.endswith("the checks sit out")


@pytest.mark.parametrize(
    ("n", "order", "n_variants"),
    [
        (40, lambda i: 1.0, 8),
        (40, lambda i: float(i % 2), 8),
        (40, lambda i: 0.0, 7),
        (4, lambda i: 0.0, 8),
    ],
)
def test_with_agreement_few_variants_or_few_tasks_they_do_not(n, order, n_variants):
    found = concordance_of(words(n, order), n_variants=n_variants, seed=1)
    assert found is not None
    assert not found.raised


def test_where_either_says_the_same_of_all_nothing_is_told():
    assert concordance_of({"t": {"a": (1, 1), "b": (1, 0)}}, n_variants=9, seed=1) is None
    assert concordance_of({}, n_variants=9, seed=1) is None


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=2, max_size=6))
def test_exchanging_checks_and_panel_changes_no_concordance(said):
    here = {"t": {str(i): pair for i, pair in enumerate(said)}}
    there = {"t": {str(i): (b, a) for i, (a, b) in enumerate(said)}}
    assert concordance_of(here, n_variants=8, seed=1, n_boot=50) == concordance_of(
        there, n_variants=8, seed=1, n_boot=50
    )


def standing(score, accuracy, *, half=0.02):
    return Standing(
        score=Estimate(mean=score, low=score - half, high=score + half, n=50),
        probe_accuracy=Estimate(mean=accuracy, low=0, high=1, n=50),
    )


@pytest.mark.parametrize(
    ("scores", "accuracies", "raised"),
    [
        ((0.5, 0.55, 0.6), (0.6, 0.6, 0.6), True),
        ((0.5, 0.55, 0.6), (0.6, 0.6, 0.62), False),
        ((0.5, 0.6, 0.58), (0.6, 0.5, 0.5), False),
        ((0.5, 0.51, 0.52), (0.6, 0.5, 0.5), False),
    ],
)
def test_a_score_that_rises_twice_without_the_probes_is_noticed(scores, accuracies, raised):
    found = divergence_of([standing(0.4, 0.5), *map(standing, scores, accuracies)])
    assert found is not None
    assert (found.raised, found.last_agreed) == (raised, 1)


def test_two_rounds_tell_nothing_yet():
    assert divergence_of([standing(0.5, 0.5), standing(0.6, 0.4)]) is None


def test_where_nothing_is_wrong_the_alarms_are_seldom_raised():
    """Null worlds: checks and panel independent; score and probes noise about one value."""
    rng = np.random.default_rng(7)
    n_worlds, concordant, divergent = 400, 0, 0
    for world in range(n_worlds):
        said = {f"t{i}": {k: tuple(rng.random(2)) for k in "ab"} for i in range(20)}
        found = concordance_of(said, n_variants=8, seed=world, n_boot=200)
        concordant += found is not None and found.raised
        passed, right = rng.binomial(60, 0.7, size=(2, 3)) / 60
        half = 1.96 * (0.7 * 0.3 / 60) ** 0.5
        gone = divergence_of(
            [standing(s, r, half=half) for s, r in zip(passed, right, strict=True)]
        )
        divergent += gone is not None and gone.raised

    assert concordant <= 0.02 * n_worlds
    assert divergent <= 0.025 * n_worlds  # two ends apart by 1.96 of their spread, one-sided
