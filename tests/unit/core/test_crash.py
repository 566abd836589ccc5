import pytest

from harnesspro.core.crash import POINTS, dying_at, passing


def test_it_dies_at_the_named_passing_and_at_no_other():
    died: list[str] = []
    at = dying_at("commit.after:3", lambda: died.append("x"))
    for point in ("commit.after", "commit.before", "commit.after", "call.sent"):
        at(point)
    assert died == []
    at("commit.after")
    assert died == ["x"]
    at("commit.after")
    assert died == ["x"]


def test_unnamed_nothing_dies():
    assert dying_at(None, lambda: None) is passing


@pytest.mark.parametrize("told", ["nowhere:1", "commit.before:0", "commit.before:x"])
def test_what_is_no_point_is_refused(told):
    with pytest.raises(ValueError, match=r".+"):
        dying_at(told, lambda: None)


@pytest.mark.parametrize("point", POINTS)
def test_every_point_can_be_named(point):
    died: list[str] = []
    dying_at(point, lambda: died.append("x"))(point)
    assert died == ["x"]
