import numpy as np

from harnesspro.core.confirm import Pick, judge
from harnesspro.core.controls import BEST_OF_TWO, best_of_two
from harnesspro.core.front import law
from harnesspro.core.records import Calibration, Estimate, Referee
from harnesspro.core.table import Row

TRUSTED = Referee(
    checks=(),
    weights={},
    trusted=True,
    calibration=Calibration(
        n_probes=200,
        n_discordant=120,
        hit_rate=Estimate(mean=0.95, low=0.9, high=0.98, n=120),
        tilt=Estimate(mean=0.0, low=-0.05, high=0.05, n=120),
        n_ties=0,
    ),
)


def row(cluster, merit, cost=1.0, task="t"):
    return Row(task, cluster, True, merit, cost, 2.0)


def test_the_preferred_answer_is_kept_for_the_price_of_both():
    assert best_of_two({"t": row("a", 0.2)}, {"t": row("b", 0.7, cost=3.0)}) == {
        "t": Row("t", "b", True, 0.7, 4.0, 4.0)
    }


def test_of_equals_the_first_answer_is_kept():
    assert best_of_two({"t": row("a", 0.5)}, {"t": row("b", 0.5)})["t"].cluster == "a"


def test_a_task_without_two_answers_is_left_out():
    assert best_of_two({"t": row("a", 0.5)}, {}) == {}


def drawn(rng, n=200):
    """One draw of a harness that seldom answers otherwise, judged by a coin."""
    return {
        f"t{i:03d}": row(str(answer), float(rng.random()), task=f"t{i:03d}")
        for i, answer in enumerate(rng.random(n) < 0.1)
    }


def test_the_control_goes_through_the_same_law_and_its_own_judge_claims_nothing_for_it():
    """A coin for a referee prefers every second answer it chose; only the veto sees through it."""
    rng = np.random.default_rng(0)
    first, second = drawn(rng), drawn(rng)
    table = {"base": first, BEST_OF_TWO: best_of_two(first, second)}

    def verdict(vetoed):
        pick = Pick(BEST_OF_TWO, "success", "control", "referee")
        (found,) = judge(
            [pick],
            table,
            "base",
            eps=0.05,
            referee=TRUSTED,
            base_disagreement=None,
            vetoed=vetoed,
        )
        return found.kind

    joint = law(table, "base", seed=1, n_boot=50)
    assert joint.place(BEST_OF_TWO).cost_usd == 2 * joint.place("base").cost_usd
    assert joint.place(BEST_OF_TWO).score > joint.place("base").score
    assert verdict(frozenset()) == "accept"
    assert verdict(frozenset({BEST_OF_TWO})) == "inconclusive"
