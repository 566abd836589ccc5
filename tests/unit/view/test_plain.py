"""A plan says what its confirm tasks can show before a cent is spent on them."""

from __future__ import annotations

from dataclasses import asdict

import pytest

from harnesspro.core.power import what_n_can_show
from harnesspro.view.plain import reach_lines


@pytest.mark.parametrize(
    ("n", "agreement", "referee"),
    [
        (
            40,
            "nothing (from 59 tasks on a change that alters none)",
            "10 %; one in two from 424 tasks on",
        ),
        (80, "a change that alters none of the answers", "16 %; one in two from 424 tasks on"),
        (
            134,
            "a change that alters at most 2 of the answers",
            "25 %; one in two from 424 tasks on",
        ),
        (500, "a change that alters at most 16 of the answers", "56 %"),
    ],
)
def test_what_n_tasks_can_accept_by_either_route(n: int, agreement: str, referee: str) -> None:
    assert reach_lines(asdict(what_n_can_show(n, eps=0.05))) == (
        f"At a margin of 5 points, {n} confirm tasks can accept by agreement: {agreement}",
        "With a trusted referee (right on 90 of 100 pairs) an equally good change of 5 % of the "
        f"answers is accepted with a chance of {referee}",
    )
