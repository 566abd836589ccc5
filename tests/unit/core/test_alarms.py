import numpy as np
import pytest

from harnesspro.core.alarms import gap_of, visible, with_shadow
from harnesspro.core.records import Check
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
def test_every_third_generated_check_is_hidden_and_always_the_same_one(n, n_hidden):
    checks = [a_check(f"c{i}") for i in range(n)]

    found = with_shadow(checks)

    assert [check.check_id for check in found] == [check.check_id for check in checks]
    assert sum(check.channel == "SHADOW" for check in found) == n_hidden
    assert with_shadow(found) == found
    assert {c.check_id: c.channel for c in with_shadow(tuple(reversed(checks)))} == {
        c.check_id: c.channel for c in found
    }


def test_the_owners_checks_are_never_hidden_and_hidden_ones_never_shown():
    found = with_shadow([*(a_check(f"c{i}") for i in range(3)), a_check("own", writer="user")])

    assert [check.check_id for check in visible(found)] == [
        check.check_id for check in found if check.channel == "SEEN"
    ]
    assert "own" in {check.check_id for check in visible(found)}
    assert len(visible(found)) == 3


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
