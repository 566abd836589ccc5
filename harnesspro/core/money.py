"""Money is an integer count of nano-dollars; a price is nano-dollars for a million tokens.

Unknown is None, never 0. Dollars exist only at the edge, for people.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from harnesspro.core.records import Price, Usage

NANOS_PER_USD = 1_000_000_000
_TOKENS_PER_PRICE = 1_000_000


def nanos_from_usd(usd: float) -> int:
    """Dollars to the nearest nano-dollar."""
    return round(usd * NANOS_PER_USD)


def usd_from_nanos(nanos: int) -> float:
    """Nano-dollars to dollars, for display and documents."""
    return nanos / NANOS_PER_USD


def cost_nanos(usage: Usage, price: Price) -> int:
    """What `usage` costs at `price`, rounded up to a whole nano-dollar.

    Reasoning tokens are part of the output count; the rest of it is priced as output.
    """
    thought = min(usage.reasoning_tokens, usage.out_tokens)
    micro = (
        usage.uncached_in_tokens * price.in_nanos_per_mtok
        + usage.cache_read_tokens * price.cache_read_nanos_per_mtok
        + usage.cache_write_tokens * price.cache_write_nanos_per_mtok
        + (usage.out_tokens - thought) * price.out_nanos_per_mtok
        + thought * _reasoning_nanos(price)
    )
    return -(-micro // _TOKENS_PER_PRICE)


def worst_case_nanos(*, in_tokens: int, max_out_tokens: int, price: Price) -> int:
    """The most a call can cost before it is made: every token at the dearest class it may be of."""
    dearest = max(
        price.in_nanos_per_mtok, price.cache_read_nanos_per_mtok, price.cache_write_nanos_per_mtok
    )
    said_or_thought = max(price.out_nanos_per_mtok, _reasoning_nanos(price))
    micro = in_tokens * dearest + max_out_tokens * said_or_thought
    return -(-micro // _TOKENS_PER_PRICE)


def _reasoning_nanos(price: Price) -> int:
    own = price.reasoning_nanos_per_mtok
    return price.out_nanos_per_mtok if own is None else own


def format_usd(usd: float | None) -> str:
    """Dollars as a person reads them: ``$0.0312``, ``$12.40``, or ``unpriced``."""
    if usd is None:
        return "unpriced"
    if usd == 0:
        return "$0"
    if abs(usd) >= 1:
        return f"${usd:,.2f}"
    return f"${usd:.4f}" if abs(usd) >= 0.001 else f"${usd:.2g}"
