import numpy as np
import pytest

from harnesspro.core.front import law
from harnesspro.core.table import Row
from harnesspro.core.volume import volume, volume_gain

CAP = 4.0


def rows(cost, merit, n=60, seed=0):
    rng = np.random.default_rng(seed)
    return {
        f"t{i:03d}": Row(f"t{i:03d}", f"{cost}-{merit}", True, merit, float(c), 1.0)
        for i, c in enumerate(cost * (0.8 + 0.4 * rng.random(n)))
    }


def joint(**candidates):
    return law({"base": rows(2.0, 0.5), **candidates}, "base", seed=1, n_boot=400)


def test_the_volume_of_one_point_is_its_rectangle():
    found = joint()
    cost = found.place("base").cost_usd

    assert volume(found, ["base"], cost_cap_usd=CAP) == pytest.approx(0.5 * (CAP - cost) / CAP)
    assert volume(found, [], cost_cap_usd=CAP) == 0.0
    assert volume(found, ["base"], cost_cap_usd=1.0) == 0.0


def test_a_set_gains_nothing_over_itself():
    gain = volume_gain(joint(v=rows(1.0, 0.5)), ["base", "v"], ["v", "base"], cost_cap_usd=CAP)

    assert (gain.low, gain.mean, gain.high) == (0.0, 0.0, 0.0)


def test_a_real_saving_is_a_gain_with_its_interval():
    found = joint(v=rows(1.0, 0.5, seed=1))
    gain = volume_gain(found, ["base", "v"], ["base"], cost_cap_usd=CAP)

    assert 0.5 * 0.9 / CAP < gain.low < gain.mean < gain.high < 0.5 * 1.1 / CAP


def test_pairing_in_the_same_worlds_is_sharper_than_two_volumes_apart():
    base = rows(2.0, 0.5)
    cheaper = {
        task: Row(task, row.cluster, True, row.merit, 0.9 * row.cost_usd, 1.0)
        for task, row in base.items()
    }
    found = law({"base": base, "v": cheaper}, "base", seed=1, n_boot=400)
    gain = volume_gain(found, ["v"], ["base"], cost_cap_usd=CAP)
    alone = [volume(found, ["base"], cost_cap_usd=CAP, world=w) for w in range(1, 401)]

    assert gain.low > 0
    assert gain.high - gain.low < float(np.ptp(np.quantile(alone, [0.025, 0.975])))


def test_more_points_never_lose_volume_in_any_world():
    found = joint(v=rows(1.0, 0.4), w=rows(3.0, 0.9))

    assert volume_gain(found, ["base", "v", "w"], ["base"], cost_cap_usd=CAP).low >= 0
