"""HarnessPro: make the harness around a model cheaper and better without seeing a right answer.

The public library surface is small; everything heavy is imported on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from harnesspro.runtime.load import Agent, load

__version__ = "0.1.0"
__all__ = ["Agent", "__version__", "load"]


def __getattr__(name: str) -> Any:
    if name in {"Agent", "load"}:
        from harnesspro.runtime import load as module

        return getattr(module, name)
    raise AttributeError(f"module 'harnesspro' has no attribute {name!r}")
