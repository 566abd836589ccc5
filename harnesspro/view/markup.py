"""HTML by construction: whatever is not markup already is made safe and escaped. Pure."""

from __future__ import annotations

from html import escape

from harnesspro.view.text import safe_text


class Markup(str):
    """HTML that is finished: never escaped again. Made by `el` and `raw` only."""

    __slots__ = ()


Child = Markup | str | int | float | None
_VOID = frozenset({"meta", "link", "br", "hr"})


def el(tag: str, *children: Child, **attributes: str | None) -> Markup:
    """One element. Text children and attribute values are escaped; None is left out.

    Attribute names: a trailing `_` is dropped, other `_` become `-`.
    """
    written = "".join(
        f' {name.rstrip("_").replace("_", "-")}="{escape(safe_text(value))}"'
        for name, value in attributes.items()
        if value is not None
    )
    if tag in _VOID:
        return Markup(f"<{tag}{written}>")
    return Markup(f"<{tag}{written}>{join(*children)}</{tag}>")


def join(*children: Child) -> Markup:
    """The children side by side."""
    return Markup("".join(_html(child) for child in children if child is not None))


def raw(html: str) -> Markup:
    """Markup of our own making, such as a style sheet; never text from outside."""
    return Markup(html)


def _html(child: Child) -> str:
    return child if isinstance(child, Markup) else escape(safe_text(child), quote=False)
