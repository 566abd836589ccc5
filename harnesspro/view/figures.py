"""How numbers read: dollars, shares, intervals, durations. ASCII only, the same everywhere."""

from __future__ import annotations

import math

from harnesspro.core import phrases
from harnesspro.core.records import Estimate

counted, percent, points = phrases.counted, phrases.percent, phrases.points


NOTHING = "-"


def usd_decimals(*amounts: float) -> int:
    """Decimals for amounts that stand together: the largest shown with three digits, the smallest
    with two; cents below a hundred dollars, whole dollars above.
    """
    sizes = [math.floor(math.log10(a)) for a in amounts if 0 < a < math.inf]
    if not sizes:
        return 2
    wanted = max(2 - max(sizes), 1 - min(sizes))
    return min(9, max(0 if max(sizes) >= 2 else 2, wanted))


def usd(amount: float, *, decimals: int | None = None) -> str:
    """`$0.126`, `$12.40`, `$1,240.00`; zero is `$0`."""
    if amount == 0:
        return "$0"
    places = usd_decimals(abs(amount)) if decimals is None else decimals
    sign = "-" if amount < 0 else ""
    return f"{sign}${abs(amount):,.{places}f}"


def usd_interval(estimate: Estimate, *, decimals: int) -> str:
    """`[0.121, 0.131]`."""
    return f"[{estimate.low:,.{decimals}f}, {estimate.high:,.{decimals}f}]"


def score(value: float) -> str:
    """Two decimals."""
    return f"{value:.2f}"


def score_interval(estimate: Estimate) -> str:
    """`[0.57, 0.75]`."""
    return f"[{estimate.low:.2f}, {estimate.high:.2f}]"


def change(estimate: Estimate | None) -> str:
    """A change in cost with its sign: `-67 %`, `+15 %`."""
    if estimate is None:
        return NOTHING
    return f"{100 * estimate.mean:+.0f} %"


def count_changed(estimate: Estimate | None) -> str:
    """`2 of 96`."""
    if estimate is None:
        return NOTHING
    return f"{round(estimate.mean * estimate.n)} of {estimate.n}"


def changed(estimate: Estimate | None) -> str:
    """`2 of 96, <= 6.4 %`: how many answers changed, and the upper bound of the share."""
    if estimate is None:
        return NOTHING
    return f"{count_changed(estimate)}, <= {percent(estimate.high)}"


def seconds(value: float) -> str:
    """`1.6 s`, `24 s`, `3.1 min`."""
    if value >= 120:
        return f"{value / 60:.1f} min"
    return f"{value:.0f} s" if value >= 10 else f"{value:.1f} s"


def duration(value: float) -> str:
    """`45 s`, `22 min`, `1 h 05 min`: how long something took, for reading."""
    whole = round(value)
    if whole < 90:
        return f"{whole} s"
    minutes = round(whole / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} min"


def clock(value: float) -> str:
    """`04:07`, `1:04:07`: a running time."""
    whole = int(value)
    minutes, rest = divmod(whole, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes:02d}:{rest:02d}"


def percent_interval(estimate: Estimate) -> str:
    """`[58, 81] %`."""
    return f"[{100 * estimate.low:.0f}, {100 * estimate.high:.0f}] %"


def signed_interval(estimate: Estimate) -> str:
    """`[+0.03, +0.20]`: bounds of a difference."""
    return f"[{estimate.low:+.2f}, {estimate.high:+.2f}]"
