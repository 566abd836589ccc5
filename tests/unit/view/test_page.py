"""The page: one file, nothing loaded, nothing run but its own script, every outside text inert."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import subprocess
import sys
from html.parser import HTMLParser

import pytest
import vl_convert

from harnesspro.core.documents import RefereeReport, RunDocument
from harnesspro.core.records import Channel
from harnesspro.view.chart import front_chart
from harnesspro.view.markup import el, join, raw
from harnesspro.view.page import page_html
from harnesspro.view.rows import rows
from tests.unit.view.documents import (
    BASELINE,
    BEST,
    CHEAP,
    bare_document,
    document,
    est,
    finding,
    judged_document,
    verdict,
)


class Parsed(HTMLParser):
    """Tags with their attributes, the text outside scripts, and each script and style."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text, self.raw = "", {"script": list[str](), "style": list[str]()}
        self._inside = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag in self.raw:
            self._inside = tag
            self.raw[tag].append("")

    def handle_endtag(self, tag: str) -> None:
        if tag == self._inside:
            self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside:
            self.raw[self._inside][-1] += data
        else:
            self.text += data


FULL = Parsed(page_html(document()))
EVIL = '</script><script>alert(1)</script><img src=x onerror=alert(1)>"\x1b\u202e'


def evil_document() -> RunDocument:
    point = CHEAP.model_copy(update={"summary": EVIL, "proposer": EVIL})
    return document(
        harness=EVIL,
        harness_name=EVIL,
        models={EVIL: EVIL},
        referee=RefereeReport(
            hash="",
            discordant_hit_rate=None,
            trusted=False,
            reason=EVIL,
            channels=(Channel(name=EVIL, kind="judge", baselines={EVIL: 0.5}, reason=EVIL),),
            advice=(EVIL,),
        ),
        front=(point,),
        candidates=(point,),
        verdicts=(verdict(reason=EVIL),),
        findings=(finding(EVIL, advice=EVIL, part=EVIL),),
        words=(EVIL,),
    )


def test_the_policy_names_exactly_the_script_and_the_style_of_the_page() -> None:
    policy = next(a["content"] for _, a in FULL.tags if a.get("http-equiv"))
    spec, script = FULL.raw["script"]
    assert json.loads(spec)["$schema"].startswith("https://vega.github.io/schema/vega-lite/")

    def digest(text: str) -> str:
        return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()

    assert policy == (
        f"default-src 'none'; script-src 'sha256-{digest(script)}'; "
        f"style-src 'sha256-{digest(FULL.raw['style'][0])}'; base-uri 'none'; form-action 'none'"
    )


def test_nothing_is_loaded_and_nothing_is_styled_or_run_inline() -> None:
    loading = {"src", "href", "action", "data", "style", "srcset"}
    found = [(tag, name) for tag, attrs in FULL.tags for name in attrs if name in loading]
    handlers = [name for _, attrs in FULL.tags for name in attrs if name.startswith("on")]
    assert (found, handlers) == ([], [])
    assert not re.search(r"@import|url\(", FULL.raw["style"][0])


def test_text_from_outside_stays_text() -> None:
    page = Parsed(page_html(evil_document()))
    plain = {tag for tag, _ in FULL.tags} | {"details"}
    assert {tag for tag, _ in page.tags} <= plain
    assert len(page.raw["script"]) == 2
    assert "<script>alert(1)</script>" in page.text
    assert "\x1b" not in page.text + page.raw["script"][0]
    assert "\u202e" not in page.text + page.raw["script"][0]
    assert "<" not in page.raw["script"][0]


def test_the_page_says_what_the_run_says() -> None:
    text = " ".join(FULL.text.split())
    for part in (
        "toolcaller is 67 % cheaper: $0.042 instead of $0.126 for 1,000 tasks.",
        "Answers changed on 2 of 96 tasks; with 95 % confidence accuracy has moved by at most 6.4",
        "samples agree from the start",
        "9 of 96 answers changed; the margin is 5 points; about 212 more tasks would decide",
        "479 tasks",
        "S3 (own namespaces, no network, nothing of the judge visible)",
        "0 bits back to the search, 1 opening of the vault so far, 0 canary hits",
        "1 proposal not admitted",
        "harnesspro export 20261130-214611-7f3a 3f2a91 --to toolcaller-3f2a91",
        *document().words,
    ):
        assert part in text


def test_sections_without_content_are_left_out() -> None:
    text = Parsed(page_html(bare_document())).text
    assert "Nothing beat toolcaller as it is (no candidate tried)." in text
    assert not [name for name in ("Verdicts", "Where the money goes", "In words") if name in text]


def test_every_table_line_has_as_many_cells_as_the_head() -> None:
    for doc in (document(), bare_document(), judged_document()):
        for table in page_html(doc).split("<table>")[1:]:
            counts = {
                line.count("<td") + line.count("<th ") + line.count("<th>")
                for line in table.partition("</table>")[0].split("<tr")[1:]
            }
            assert len(counts) == 1


def test_the_page_shows_the_referee_what_to_add_and_what_the_opening_showed() -> None:
    text = " ".join(Parsed(page_html(judged_document())).text.split())
    for part in (
        "Trusted, so it may vouch for changed answers.",
        "right on 91 % of 104 pairs of differing answers (between 85 % and 95 %)",
        "vetoed: it loses to the original",
        "0.81[0.72, 0.89]",
        "0.61shortest",
        "6 points behind taking the shortest answer on 41 probes.",
        "on 192 confirm tasks 4 changed answers pass",
        "preferred the right one on 82 % of 22 (at least 64 %): better than chance.",
        "3.0 %by itself",
        "at most 16 %, with 95 % confidence; by itself 3.0 %",
        "observedbest of 4",
        "99 %1.6 s",
        "harnesspro channels 20261130-214611-7f3a",
    ):
        assert part in text
    assert "accuracy" not in Parsed(page_html(bare_document())).text.partition("Scores are")[0]


def test_a_saving_that_was_not_accepted_is_paid_back_only_if_it_holds() -> None:
    seen = CHEAP.model_copy(update={"verdict": None, "stamp": "observed"})
    observed = document(front=(seen,), candidates=(seen,), verdicts=())
    assert Parsed(page_html(observed)).text.count("if it holds, paid back after 479 tasks") == 2


FREE = BASELINE.model_copy(
    update={"cost_usd_per_task": est(0.0, 0.0, 0.0), "score": est(0.5, 0.5, 0.5, 0)}
)


@pytest.mark.parametrize(
    ("doc", "n_names"),
    [
        (document(), 3),
        (bare_document(), 1),
        (bare_document(baseline=FREE), 1),
        (document(front=(BASELINE, CHEAP), candidates=(CHEAP,)), 2),
    ],
    ids=["full", "one point", "free and flat", "baseline on the front"],
)
def test_the_chart_draws_and_names_the_front_and_the_baseline(
    doc: RunDocument, n_names: int
) -> None:
    svg = vl_convert.vegalite_to_svg(json.dumps(front_chart(rows(doc), trusted=True)))
    drawn = [each for each in ("baseline", "3f2a91", "7c01d2") if f">{each}</text>" in svg]
    assert len(drawn) == n_names
    assert "NaN" not in svg


def test_the_line_never_goes_down() -> None:
    dearer_and_worse = CHEAP.model_copy(
        update={"candidate_id": "h-0000000000000000", "cost_usd_per_task": est(9e-5, 8e-5, 1e-4)}
        | {"score": est(0.6, 0.5, 0.7)}
    )
    spec = front_chart(rows(document(front=(CHEAP, dearer_and_worse, BEST))), trusted=True)
    corners = spec["layer"][0]["data"]["values"]
    assert [each["score"] for each in corners] == [0.69, 0.71, 0.71]
    assert [each["cost"] for each in corners] == pytest.approx([0.0416, 0.069, 1.06 * 0.152])
    assert front_chart(rows(bare_document()), trusted=True)["layer"][0]["data"]["values"] == []


def test_what_nobody_can_judge_is_not_joined_to_the_line() -> None:
    spec = front_chart(rows(document()), trusted=False)
    corners = spec["layer"][0]["data"]["values"]
    assert [each["score"] for each in corners] == [0.69, 0.69]
    nothing = document(verdicts=(), front=(BEST,), candidates=(BEST,))
    assert front_chart(rows(nothing), trusted=False)["layer"][0]["data"]["values"] == []
    assert "the best that was accepted" in Parsed(page_html(document())).text
    assert "the best score so much money buys" in Parsed(page_html(judged_document())).text


def test_markup_escapes_everything_but_markup() -> None:
    assert el("a", "<b>", el("i", "x&y"), None, 3, title='"q"', class_="k", aria_label="l") == (
        '<a title="&quot;q&quot;" class="k" aria-label="l">&lt;b&gt;<i>x&amp;y</i>3</a>'
    )
    assert join("<", raw("<hr>")) == "&lt;<hr>"


def test_the_page_needs_neither_scipy_nor_the_loop() -> None:
    code = (
        "import sys, json, harnesspro.view.page\n"
        "from tests.unit.view.documents import bare_document\n"
        "page = harnesspro.view.page\n"
        "page.front_chart(page.rows(bare_document()), trusted=False)\n"
        "heavy = {'scipy', 'langgraph', 'litellm', 'git', 'optuna'}\n"
        "print(sorted(heavy & {name.partition('.')[0] for name in sys.modules}))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"


def test_a_name_cannot_smuggle_a_command_into_what_is_there_to_copy() -> None:
    page = page_html(document(harness_name="toy; rm -rf ~ #"))
    assert "--to 'toy; rm -rf ~ #-3f2a91'" in page
