"""How much more of the map one set of harnesses covers than another, in the same bootstrap worlds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from harnesspro.core.front import JointLaw, Place, hypervolume
from harnesspro.core.records import Estimate
from harnesspro.core.stats import percentile_estimate


def volume(joint: JointLaw, ids: Sequence[str], *, cost_cap_usd: float, world: int = 0) -> float:
    """Share of the map that these harnesses dominate in one world (0 is the sample itself).

    The map reaches from score 0 to 1 and from no cost to the cap, which is fixed before the run: a
    harness at or above the cap, or with score 0, covers nothing.
    """
    columns = [joint.at(key) for key in ids]
    places = [Place(float(joint.score[world, i]), float(joint.cost[world, i])) for i in columns]
    return hypervolume(places, reference=Place(0.0, cost_cap_usd)) / cost_cap_usd


def volume_gain(
    joint: JointLaw,
    ours: Sequence[str],
    theirs: Sequence[str],
    *,
    cost_cap_usd: float,
    alpha: float = 0.05,
) -> Estimate:
    """The share of the map that `ours` dominate over that of `theirs`, paired world by world.

    The volume of a front flatters it (it is made of the luckiest points), so no volume stands alone:
    both sets are measured in the same worlds and only the difference is an estimate. Still, sets that
    were chosen on these very tasks carry their luck with them: give it the law of the confirm tasks.
    """
    gains = np.array(
        [
            volume(joint, ours, cost_cap_usd=cost_cap_usd, world=world)
            - volume(joint, theirs, cost_cap_usd=cost_cap_usd, world=world)
            for world in range(len(joint.score))
        ]
    )
    return percentile_estimate(float(gains[0]), gains[1:], n=joint.counts[0].n, alpha=alpha)
