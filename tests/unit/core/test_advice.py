"""What the owner could add: only what helps in this very case, with what it would buy."""

import pytest

from harnesspro.core.advice import Bought, advice, what_a_referee_buys
from harnesspro.core.margins import p_within
from harnesspro.core.records import Calibration, Estimate, Referee
from harnesspro.core.referee import EASIER_PROBES, LEAST_TILT, Votes, freeze
from harnesspro.core.stats import agreement_p, lower_bound
from tests.unit.core.charts import a_verdict

NOBODY = freeze(())
OPEN = a_verdict("v", "inconclusive", n=134, n_changed=9)
ALL = ("panel:x", "verifier:http://127.0.0.1:1")


def marked(mean, n, *, n_probes=60):
    """A referee that was right on this share of n pairs from so many probes."""
    low = lower_bound(round(mean * n), n)
    rate = Estimate(mean=mean, low=low, high=1.0, n=n)
    calibration = Calibration(
        n_probes=n_probes,
        n_admitting=60,
        n_discordant=n,
        hit_rate=rate,
        tilt=None,
        n_ties=0,
        reason="",
    )
    return freeze((), calibration=calibration)


def told(referee=NOBODY, n=134, *, checks=False, channels=(), verdicts=()):
    return advice(referee, n, has_user_checks=checks, channels=channels, verdicts=verdicts)


def test_own_checks_and_an_independent_model_are_asked_for_with_what_they_buy():
    assert told() == (
        "For a referee that can vouch for changed answers, add your own checks (`checks:` in "
        "harness.yaml), which are heard first, or a model of another family (`--channel "
        "panel=MODEL`), which sees errors that the harness and its checks share. Right on 90 % of "
        "100 probe pairs, the referee could let 27 changed answers of 134 pass where it finds 18 "
        "better and 9 worse; without it at most 2 may change.",
        "More inputs (no right answers needed): on 268 confirm tasks 7 changed answers pass without "
        "a judge, on these 134 2.",
    )


def test_the_numbers_speak_of_the_pick_that_is_open():
    assert (
        "9 changed answers of 134 pass where it finds 6 better and 3 worse"
        in (told(verdicts=(a_verdict("w"), OPEN))[0])
    )


@pytest.mark.parametrize(
    ("checks", "channels", "asked"),
    [
        (True, (), ["panel=MODEL", "verifier=URL"]),
        (False, ("panel:x",), ["checks:", "verifier=URL"]),
        (False, ("judge:x", "verifier:u"), ["checks:"]),
        (True, ("panel:x",), ["verifier=URL"]),
        (True, ALL, []),
    ],
)
def test_what_is_there_already_is_not_asked_for(checks, channels, asked):
    text = " ".join(told(checks=checks, channels=channels))
    known = ("checks:", "panel=MODEL", "verifier=URL")
    assert [each for each in known if each in text] == asked


def test_too_few_tasks_for_anything_come_first():
    lines = told(n=10)
    assert lines[0] == (
        "More inputs (no right answers needed): 49 more confirm tasks make 59, the fewest on which a "
        "change that alters no answer can be accepted at 5 points."
    )
    assert lines[1].endswith("the harness and its checks share.")
    assert told(n=0)[0].startswith("More inputs (no right answers needed): 59 more confirm tasks")


def test_a_good_referee_marked_on_too_few_pairs_asks_for_probes_first():
    lines = told(marked(0.9, 40), checks=True, channels=ALL)
    assert lines[0] == (
        "More probes: --probes 210 would give about 100 pairs instead of 40; at 90 % right the "
        "referee would be trusted."
    )
    assert len(told(marked(0.9, 40), verdicts=(OPEN,))) == 3


@pytest.mark.parametrize("referee", [marked(0.7, 40), marked(0.8, 100, n_probes=100)])
def test_more_probes_are_no_advice_where_they_would_not_make_it_trusted(referee):
    assert not [line for line in told(referee) if line.startswith("More probes")]


def test_where_probes_could_not_mark_a_channel_a_further_one_is_no_advice():
    unmarked = freeze(
        (),
        calibration=Calibration(
            n_probes=0, n_discordant=0, hit_rate=None, tilt=None, n_ties=0, reason="too few pairs"
        ),
    )
    heads = [line.partition(" (")[0] for line in told(unmarked, channels=("judge:x",))]
    assert heads == ["More inputs"]
    assert told(unmarked)[0].startswith("For a referee that can vouch for changed answers")


def test_nothing_is_advised_where_nothing_is_open():
    assert told(verdicts=(a_verdict("v"), a_verdict("w", "reject"))) == ()


def test_a_trusted_referee_leaves_only_more_inputs_to_ask_for():
    trusted = marked(0.95, 100)
    assert isinstance(trusted, Referee)
    assert trusted.trusted
    assert [line.partition(" (")[0] for line in told(trusted, verdicts=(OPEN,))] == ["More inputs"]


@pytest.mark.parametrize("n", [40, 64, 134, 300])
def test_what_a_referee_buys_is_what_its_test_asks_for(n):
    changed = n // 5
    bought = what_a_referee_buys(n, changed=changed, eps=0.05)
    assert bought is not None
    rate = lower_bound(90, 100) - EASIER_PROBES

    def p(better):
        votes = Votes(n=n, changed=changed, worse=changed - better, better=better)
        return p_within(votes, hit_rate=rate, tilt=LEAST_TILT, eps=0.05)

    assert p(bought.better) <= 0.05 < p(bought.better - 1)
    assert agreement_p(changed, n, eps=0.05) > 0.05


def test_a_change_of_every_third_answer_is_beyond_any_evidence():
    assert what_a_referee_buys(134, changed=45, eps=0.05) is None
    assert what_a_referee_buys(134, changed=9, eps=0.05) == Bought(n=134, changed=9, better=6)
