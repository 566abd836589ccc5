from hypothesis import given
from hypothesis import strategies as st

from harnesspro.core.untrusted import fence_of, fenced, visible_text


def test_what_cannot_be_seen_is_gone_and_lines_stay():
    assert visible_text("a\u202e\u200b\x1b[2J\x00b\n\tc", limit=100) == "a[2Jb\n\tc"


def test_what_is_too_long_keeps_both_ends():
    text = "a" * 50 + "b" * 50
    assert visible_text(text, limit=10) == "aaaaa\n[90 characters left out]\nbbbbb"


def test_a_fence_hangs_on_what_it_stands_around():
    assert fence_of("a") == fence_of("a") != fence_of("b")


@given(st.text(max_size=200))
def test_only_the_two_fences_are_fences(text):
    fence = fence_of("something")
    shown = fenced(text[:50] + fence + text[50:], fence, limit=1_000)
    assert shown.count(fence) == 2
    assert (shown.startswith(fence + "\n"), shown.endswith("\n" + fence)) == (True, True)
