"""The sections of the page, top to bottom. Pure: a document in, markup out."""

from __future__ import annotations

import shlex

from harnesspro.core.documents import RunDocument
from harnesspro.core.phrases import own_noise
from harnesspro.view import figures, judge, sentences
from harnesspro.view.markup import Child, Markup, el, join, raw
from harnesspro.view.rows import Row

PRODUCT = "HarnessPro"


def _section(title: str, *children: Child, note: str | None = None) -> Markup:
    return el("section", el("h2", title), el("p", note, class_="note") if note else None, *children)


def header_section(doc: RunDocument) -> Markup:
    """What was saved and how sure that is."""
    head = sentences.headline(doc)
    models = ", ".join(f"{role}: {model}" for role, model in sorted(doc.models.items()))
    source = (PRODUCT, doc.harness, doc.run_id, models)
    return el(
        "header",
        el(
            "p",
            el("b", source[0]),
            *(f"  ·  {each}" for each in source[1:] if each),
            class_="source",
        ),
        el("h1", head.claim),
        el("p", head.support, class_="support"),
    )


def figures_section(doc: RunDocument, table_rows: tuple[Row, ...]) -> Markup:
    """The four numbers to take away."""
    lead, base = sentences.lead_row(doc), table_rows[0]
    shown = lead or base
    places = figures.usd_decimals(base.cost_per_1000.mean, shown.cost_per_1000.mean)
    before = figures.usd(base.cost_per_1000.mean, decimals=places)
    tiles = [
        (
            "for 1,000 tasks",
            figures.usd(shown.cost_per_1000.mean, decimals=places),
            f"was {before}" if lead else figures.usd_interval(base.cost_per_1000, decimals=places),
        )
    ]
    changed = lead.answers_changed if lead else None
    if changed is not None:
        own = sentences.own_disagreement(doc)
        noise = "" if own is None else f"; by itself {figures.percent(own)}"
        bound = f"at most {figures.percent(changed.high)}, with 95 % confidence{noise}"
        tiles.append(("answers changed", figures.count_changed(changed), bound))
    if shown.accuracy is not None:
        before = (
            f"{base.n_right} as given" if lead and base.accuracy else "the vault was opened once"
        )
        tiles.append(("right answers", f"{shown.n_right} of {shown.accuracy.n}", before))
    spent = doc.spend.improver_usd + doc.spend.target_usd
    paid_back = sentences.paid_back_words(doc)
    tiles.append(("this run cost", figures.usd(spent), paid_back or _billed(doc)))
    return el("dl", *(_tile(*tile) for tile in tiles), class_="figures")


def _billed(doc: RunDocument) -> str:
    return f"{figures.usd(doc.spend.paid_usd)} billed"


def _tile(name: str, value: str, below: str) -> Markup:
    return el("div", el("dt", name), el("dd", value, el("small", below) if below else None))


def chart_section(doc: RunDocument) -> Markup:
    """The place the chart is drawn in."""
    line = "best score so much money buys"
    if not doc.referee.trusted:
        line = "best that was accepted: the score of other points is not known well enough to join"
    return _section(
        "Score against cost",
        el(
            "div",
            id="front",
            role="img",
            aria_label="Score against cost; the table has the numbers",
        ),
        el("noscript", el("p", "The chart needs JavaScript; the table has all its numbers.")),
        note="Further left is cheaper, further up is better. Bars are intervals; the line is the "
        f"{line}. The front is in colour.",
    )


def table_section(doc: RunDocument, table_rows: tuple[Row, ...]) -> Markup:
    """Every harness, its numbers with their intervals."""
    opened = any(row.accuracy for row in table_rows)
    numbers = ["$ for 1,000 tasks", "vs base", "score", "answers changed", "on front", "latency"]
    heads = [
        el("th", "harness"),
        el("th", "what changed"),
        el("th", "verdict"),
        *(_head(name) for name in [*numbers, *(["right answers"] * opened)]),
    ]
    places = figures.usd_decimals(*(row.cost_per_1000.mean for row in table_rows))
    lines = [_table_row(doc, row, decimals=places, opened=opened) for row in table_rows]
    body = el("table", el("thead", el("tr", *heads)), el("tbody", *lines))
    return _section("Every harness measured", el("div", body, class_="scroll"))


def _table_row(doc: RunDocument, row: Row, *, decimals: int, opened: bool) -> Markup:
    cost = figures.usd(row.cost_per_1000.mean, decimals=decimals)
    is_base = row.kind == "baseline"
    cells = [
        *_names(doc, row),
        _number(cost, figures.usd_interval(row.cost_per_1000, decimals=decimals)),
        _number("" if is_base else figures.change(row.change), _change_interval(row)),
        _number(figures.score(row.score.mean), figures.score_interval(row.score)),
        _changed(doc, row),
        _number("" if row.p_on_front is None else figures.percent(row.p_on_front)),
        _number(figures.seconds(row.latency_s.mean)),
    ]
    if opened:
        right = f"{row.n_right} of {row.accuracy.n}" if row.accuracy else ""
        low_high = figures.percent_interval(row.accuracy) if row.accuracy else ""
        cells.append(_number(right, low_high))
    return el("tr", *cells, class_=row.kind)


def _names(doc: RunDocument, row: Row) -> list[Markup]:
    """What it is, what changed, and how far it was judged."""
    is_base, word = row.kind == "baseline", sentences.verdict_word(row)
    picks = [_small(pick.replace("_", " ")) for pick in row.picks]
    stamp = row.stamp if row.verdict else f"best of {sentences.n_compared(doc)}"
    proposer = _small("" if is_base else row.proposer)
    return [
        el("td", el("span", row.short_id, class_="name id"), *picks),
        el("td", _prose(row.summary), proposer, class_="text"),
        el("td", *((None,) if is_base else (_tag(word), _small(stamp)))),
    ]


def _changed(doc: RunDocument, row: Row) -> Markup:
    """Changed answers with their bound; of the baseline, how often it disagrees with itself."""
    changed = row.answers_changed
    if changed is not None:
        return _number(figures.count_changed(changed), f"at most {figures.percent(changed.high)}")
    own = sentences.own_disagreement(doc)
    return _number("") if own is None else _number(figures.percent(own), "by itself")


def _prose(text: str) -> str:
    """A sentence whose arrows do not break over two lines."""
    return sentences.sentence(text).replace("->", "\u2192")


def _tag(word: str) -> Markup:
    return el("span", word, class_=f"tag {word}")


def _head(name: str) -> Markup:
    return el("th", name, class_="n")


def _change_interval(row: Row) -> str:
    if row.change is None or not row.confirmed_change:
        return ""
    return f"[{100 * row.change.low:+.0f}, {100 * row.change.high:+.0f}]"


def _number(value: str, below: str = "") -> Markup:
    return el("td", value, _small(below), class_="n")


def _small(text: str) -> Markup | None:
    return el("small", text) if text else None


def verdicts_section(doc: RunDocument, table_rows: tuple[Row, ...]) -> Markup | None:
    """What confirm said of each pick."""
    if not doc.verdicts:
        return None
    names = {row.candidate_id: row.short_id for row in table_rows}
    lines = []
    for verdict in doc.verdicts:
        word = sentences.VERDICT_WORDS[verdict.kind]
        name = names.get(verdict.candidate_id, verdict.candidate_id)
        lines += [
            el("dt", el("span", name, class_="name id")),
            el("dd", _tag(word), f". {sentences.verdict_sentences(verdict)}"),
        ]
    return _section("Verdicts", el("dl", *lines, class_="facts"))


def findings_section(doc: RunDocument) -> Markup | None:
    """The waste found, priced."""
    found = sentences.wastes(doc)
    if not found:
        return None
    places = figures.usd_decimals(*(each.usd_per_1000 for each in found))
    heads = [
        *(el("th", name) for name in ("pattern", "part", "advice")),
        *(_head(name) for name in ("$ for 1,000 tasks", "of its cost", "trials lost")),
    ]
    lines = [
        el(
            "tr",
            el("td", each.pattern, class_="text"),
            el("td", each.part),
            el("td", each.advice),
            _number(figures.usd(each.usd_per_1000, decimals=places)),
            _number(figures.percent(each.share) if each.share is not None else ""),
            _number(figures.percent(each.lost_success) if each.lost_success else ""),
        )
        for each in found
    ]
    table = el("table", el("thead", el("tr", *heads)), el("tbody", *lines))
    trials = figures.counted(doc.n_diagnosed_trials, "trial")
    return _section(
        "Where the money goes",
        el("div", table, class_="scroll"),
        note=f"Waste in the harness as given, from {trials}; no dollar is counted twice.",
    )


def words_section(doc: RunDocument) -> Markup | None:
    """The report in plain sentences."""
    if not doc.words:
        return None
    return _section(
        "In words",
        el("div", *(el("p", sentences.sentence(each)) for each in doc.words), class_="words"),
    )


def money_section(doc: RunDocument) -> Markup:
    """Thinking, measuring, the bill, the prices."""
    spend = doc.spend
    places = figures.usd_decimals(spend.improver_usd, spend.target_usd)
    facts: list[tuple[str, str]] = [
        ("thinking", figures.usd(spend.improver_usd, decimals=places)),
        ("measuring", figures.usd(spend.target_usd, decimals=places)),
        ("billed", figures.usd(spend.paid_usd)),
        ("saving", sentences.paid_back_words(doc) or "none"),
    ]
    if spend.n_ambiguous_calls:
        facts.append(("unanswered", figures.counted(spend.n_ambiguous_calls, "call")))
    facts += [
        (price.model, _price_words(price.in_nanos_per_mtok, price.out_nanos_per_mtok, price.source))
        for price in doc.prices
    ]
    return _section("What this run cost", _facts(facts))


def _price_words(in_nanos: int, out_nanos: int, source: str) -> str:
    into, out = figures.usd(in_nanos / 1e9), figures.usd(out_nanos / 1e9)
    return f"{into} in, {out} out for a million tokens; {source}"


def referee_section(doc: RunDocument) -> Markup:
    """Trusted or not, how it was measured, every channel, what would help."""
    lines = judge.channel_lines(doc.referee)
    facts = [*judge.trust_facts(doc.referee), *judge.probe_facts(doc)]
    facts += [
        ("check", _check_words(check.name, check.kill_rate, admitted=check.admitted))
        for check in doc.referee.checks
    ]
    facts += [("to add", line) for line in doc.referee.advice]
    facts += [("control", line) for line in judge.control_facts(doc)]
    table = el("div", _channel_table(lines), class_="scroll") if lines else None
    return _section(
        "The referee",
        _facts(facts),
        table,
        note="It judges without right answers. How often it is right is measured on generated tasks, "
        "whose answers are known by construction.",
    )


def _channel_table(lines: tuple[judge.ChannelLine, ...]) -> Markup:
    numbers = ("AUC", "best naive rule", "lead", "silent", "pick gain")
    heads = [el("th", "channel"), *(_head(name) for name in numbers)]
    heads += [el("th", "heard"), el("th", "why")]
    body = [
        el(
            "tr",
            el("td", el("span", line.name, class_="name")),
            *(
                _number(cell.value, cell.below)
                for cell in (line.auc, line.naive, line.lead, line.silent, line.gain)
            ),
            el("td", el("span", "yes" if line.heard else "no", class_=_heard_class(line))),
            el("td", line.reason, class_="text"),
            class_="front" if line.heard else "other",
        )
        for line in lines
    ]
    return el("table", el("thead", el("tr", *heads)), el("tbody", *body))


def _heard_class(line: judge.ChannelLine) -> str:
    return "tag accepted" if line.heard else "tag inconclusive"


def opened_section(doc: RunDocument) -> Markup | None:
    """What the opening showed of the score."""
    lines = judge.opened_facts(doc)
    if not lines:
        return None
    return _section(
        "After the opening", el("div", *(el("p", line) for line in lines), class_="words")
    )


def trust_section(doc: RunDocument) -> Markup:
    """What the tasks can show and how strong the walls were."""
    isolation, firewall = sentences.level_words(doc)
    facts = [
        ("tasks", sentences.power_words(doc)),
        ("noise", sentences.sentence(own_noise(sentences.own_disagreement(doc)))),
        *([("models", told)] if (told := sentences.model_words(doc)) else []),
        ("isolation", isolation),
        ("firewall", firewall),
        ("right answers", sentences.firewall_words(doc)),
        ("ended", f"{doc.stop.reason}: {doc.stop.detail}"),
        ("took", figures.duration(doc.elapsed_s)),
        ("seed", str(doc.seed)),
    ]
    return _section("How far to trust it", _facts(facts))


def _check_words(name: str, kill_rate: float | None, *, admitted: bool) -> str:
    kills = f", catches {figures.percent(kill_rate)} of spoilt answers" if kill_rate else ""
    return f"{name}{kills}{'' if admitted else ' (not admitted)'}"


def _facts(facts: list[tuple[str, str]]) -> Markup:
    pairs = [join(el("dt", name), el("dd", value)) for name, value in facts]
    return el("dl", *pairs, class_="facts")


def refusals_section(doc: RunDocument) -> Markup | None:
    """Proposals that were not admitted, and why."""
    if not doc.refusals:
        return None
    items = [
        el("li", f"{each.patch.summary} ({each.patch.proposer}): {each.reason}")
        for each in doc.refusals
    ]
    count = figures.counted(len(items), "proposal")
    return el("details", el("summary", f"{count} not admitted"), el("ul", *items))


def next_section(doc: RunDocument) -> Markup:
    """Commands to type."""
    lead, run = sentences.lead_row(doc), doc.run_id
    lines = []
    if lead is not None:
        target = shlex.quote(f"{doc.harness_name}-{lead.short_id}")
        lines.append(f"harnesspro export {run} {lead.short_id} --to {target}")
        lines.append(f"harnesspro diff {run} baseline {lead.short_id}")
    if doc.referee.channels:
        lines.append(f"harnesspro channels {run}")
    lines.append(f"harnesspro show {run}")
    body = join(*(join(line, raw("\n")) for line in lines))
    return _section("Next", el("pre", body))


def footer_section(doc: RunDocument) -> Markup:
    """What the words mean."""
    rounds = figures.counted(doc.n_rounds, "round")
    return el(
        "footer",
        f"{rounds}, {figures.counted(len(doc.candidates), 'candidate')}. ",
        "Scores are judged without right answers; accuracy is counted against them. ",
        "The same numbers stand in report.json beside this file.",
    )
