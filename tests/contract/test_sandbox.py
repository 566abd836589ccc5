"""Every level against one suite, each as the user it is made for."""

from collections.abc import Iterator

import pytest

from harnesspro.testing.sandbox_suite import SANDBOX_CASES
from tests.unit.sandbox.boxes import LADDER, Box, launched


@pytest.fixture(scope="module", params=LADDER)
def box(request: pytest.FixtureRequest) -> Iterator[Box]:
    level, ordinary = LADDER[request.param]
    with launched(level, ordinary=ordinary) as box:
        yield box


@pytest.mark.parametrize("case", SANDBOX_CASES, ids=lambda case: case.__name__)
def test_a_sandbox_owes(case, box: Box):
    folder = box.code / case.__name__
    folder.mkdir(exist_ok=True)
    case(box.client, str(folder))


def test_the_level_is_the_one_it_was_started_at(box: Box, request: pytest.FixtureRequest):
    assert box.client.level == LADDER[request.node.callspec.params["box"]][0]
