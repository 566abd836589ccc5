"""A run document as one HTML file that needs no network: chart, table, words, money, trust.

The policy in its head lets nothing load and nothing run but the one script and style sheet it
carries, by hash; every text from outside is a text node.
"""

from __future__ import annotations

import base64
import hashlib
import json
from functools import cache
from importlib import resources

from harnesspro.core.documents import RunDocument
from harnesspro.view import sections
from harnesspro.view.chart import front_chart
from harnesspro.view.markup import Markup, el, raw
from harnesspro.view.rows import Row, rows


def page_html(doc: RunDocument) -> str:
    """The whole page."""
    table_rows = rows(doc)
    style, script = _resource("page.css"), _script()
    spec = json.dumps(front_chart(table_rows, trusted=doc.referee.trusted)).replace("<", "\\u003c")
    head = el(
        "head",
        el("meta", charset="utf-8"),
        el("meta", http_equiv="Content-Security-Policy", content=_policy(style, script)),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("meta", name="referrer", content="no-referrer"),
        el("title", f"{doc.harness_name} - {sections.PRODUCT}"),
        el("style", raw(style)),
    )
    body = el(
        "body",
        el("main", *_main(doc, table_rows)),
        el("script", raw(spec), type="application/json", id="front-spec"),
        el("script", raw(script)),
    )
    return f"<!doctype html>\n{el('html', head, body, lang='en')}\n"


def _policy(style: str, script: str) -> str:
    return (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; "
        "base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _resource(name: str) -> str:
    return resources.files("harnesspro.view").joinpath(name).read_text(encoding="utf-8")


@cache
def _script() -> str:
    """Vega and our few lines, as one script; the same for every page."""
    import vl_convert

    bundle: str = vl_convert.javascript_bundle(_resource("page.js"))
    return bundle.replace("</script", "<\\/script")


def _main(doc: RunDocument, table_rows: tuple[Row, ...]) -> tuple[Markup | None, ...]:
    return (
        sections.header_section(doc),
        sections.figures_section(doc, table_rows),
        sections.chart_section(doc),
        sections.table_section(doc, table_rows),
        sections.verdicts_section(doc, table_rows),
        sections.referee_section(doc),
        sections.opened_section(doc),
        sections.findings_section(doc),
        sections.words_section(doc),
        el("div", sections.money_section(doc), sections.trust_section(doc), class_="columns"),
        sections.refusals_section(doc),
        sections.next_section(doc),
        sections.footer_section(doc),
    )
