"""The front as a Vega-Lite chart: score against dollars for 1,000 tasks, intervals both ways.

Colours are the page's style variables, so that the chart follows light and dark by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from harnesspro.view import figures, sentences
from harnesspro.view.rows import Row
from harnesspro.view.text import safe_text

if TYPE_CHECKING:
    import altair as alt

_HEIGHT = 400
_SUMMARY = 90
_SHAPES = {
    "baseline": "diamond",
    "accepted": "circle",
    "inconclusive": "triangle-up",
    "rejected": "cross",
    "observed": "square",
}
_COLOURS = {"baseline": "var(--ink)", "front": "var(--accent)", "other": "var(--faint)"}


def front_chart(rows: Sequence[Row], *, trusted: bool) -> dict[str, Any]:
    """The chart's Vega-Lite specification; `rows` holds the baseline at least.

    While the referee is not `trusted`, the line joins only what was accepted and the baseline: the
    score of other points is unknown, whatever it looks like.
    """
    import altair as alt

    data = alt.Data(values=[_datum(row) for row in rows])  # type: ignore[no-untyped-call]
    base = alt.Chart(data)
    chart = alt.layer(
        _front_line(rows, trusted=trusted),
        *_intervals(base, rows),
        _points(base, rows),
        _names(base),
    ).properties(width="container", height=_HEIGHT, background="transparent")
    spec: dict[str, Any] = chart.configure(**_CONFIG).to_dict()
    return spec


def _line(rows: Sequence[Row], *, trusted: bool) -> list[dict[str, float]]:
    """The best score so much money buys: of the points that may be joined, those that score more
    than every cheaper one, drawn on to the right edge; empty where nothing but the baseline is left.
    """
    front = [row for row in rows if _joined(row, trusted=trusted)]
    if all(row.kind == "baseline" and not row.on_front for row in front):
        return []
    corners: list[dict[str, float]] = []
    for row in sorted(front, key=lambda row: (row.cost_per_1000.mean, -row.score.mean)):
        if not corners or row.score.mean > corners[-1]["score"]:
            corners.append({"cost": row.cost_per_1000.mean, "score": row.score.mean})
    edge = [{"cost": _right_edge(rows), "score": corners[-1]["score"]}] if corners else []
    return corners + edge


def _joined(row: Row, *, trusted: bool) -> bool:
    if trusted:
        return row.on_front
    return row.kind == "baseline" or (row.on_front and row.verdict == "accept")


def _datum(row: Row) -> dict[str, Any]:
    cost, decimals = row.cost_per_1000, figures.usd_decimals(row.cost_per_1000.mean)
    right = f"{row.n_right} of {row.accuracy.n}" if row.accuracy else "not opened"
    return {
        "name": safe_text(row.short_id),
        "kind": row.kind,
        "verdict": sentences.verdict_word(row),
        "cost": cost.mean,
        "cost_low": cost.low,
        "cost_high": cost.high,
        "score": row.score.mean,
        "score_low": row.score.low,
        "score_high": row.score.high,
        "change": safe_text(row.summary, limit=_SUMMARY),
        "dollars": f"{figures.usd(cost.mean)} {figures.usd_interval(cost, decimals=decimals)}",
        "against": figures.change(row.change),
        "scored": f"{figures.score(row.score.mean)} {figures.score_interval(row.score)}",
        "changed": figures.changed(row.answers_changed),
        "seconds": figures.seconds(row.latency_s.mean),
        "right": right,
        "judged": row.stamp,
    }


def _x(rows: Sequence[Row]) -> alt.X:
    import altair as alt

    high = _right_edge(rows)
    return alt.X(
        "cost:Q",
        title="dollars for 1,000 tasks",
        scale=alt.Scale(domain=[0, high], nice=False),
        axis=alt.Axis(format=f"$,.{_tick_decimals(high)}f", tickCount=6),
    )


def _right_edge(rows: Sequence[Row]) -> float:
    return 1.06 * max(max(row.cost_per_1000.high, row.cost_per_1000.mean) for row in rows) or 1.0


def _tick_decimals(high: float) -> int:
    return 0 if high >= 100 else max(2, figures.usd_decimals(high) - 1)


def _y(rows: Sequence[Row]) -> alt.Y:
    import altair as alt

    low = min(min(row.score.low, row.score.mean) for row in rows)
    high = max(max(row.score.high, row.score.mean) for row in rows)
    pad = max(0.02, 0.08 * (high - low))
    return alt.Y(
        "score:Q",
        title="score, judged without right answers",
        scale=alt.Scale(domain=[low - pad, high + pad], nice=False, zero=False),
        axis=alt.Axis(format=".2f", tickCount=6),
    )


def _front_line(rows: Sequence[Row], *, trusted: bool) -> alt.Chart:
    import altair as alt

    data = alt.Data(values=_line(rows, trusted=trusted))  # type: ignore[no-untyped-call]
    line: alt.Chart = (
        alt.Chart(data)
        .mark_line(interpolate="step-after", color="var(--accent)", opacity=0.45, strokeWidth=1.5)
        .encode(x="cost:Q", y="score:Q", order="cost:Q")
    )
    return line


def _intervals(base: alt.Chart, rows: Sequence[Row]) -> tuple[alt.Chart, alt.Chart]:
    import altair as alt

    bars = base.mark_rule(strokeWidth=1.25).encode(
        color=_colour(),
        opacity=alt.condition("datum.kind === 'other'", alt.value(0.5), alt.value(0.75)),
    )
    across = bars.encode(x=alt.X("cost_low:Q"), x2="cost_high:Q", y=_y(rows))
    along = bars.encode(x=_x(rows), y=alt.Y("score_low:Q"), y2="score_high:Q")
    return across, along


def _points(base: alt.Chart, rows: Sequence[Row]) -> alt.Chart:
    import altair as alt

    present = [word for word in _SHAPES if any(sentences.verdict_word(r) == word for r in rows)]
    shapes = alt.Scale(domain=present, range=[_SHAPES[word] for word in present])
    legend = alt.Legend(
        title=None, orient="top", direction="horizontal", symbolFillColor="var(--muted)"
    )
    points: alt.Chart = base.mark_point(filled=True, size=120, opacity=1).encode(
        x=_x(rows),
        y=_y(rows),
        color=_colour(),
        shape=alt.Shape("verdict:N", scale=shapes, legend=legend),
        tooltip=[alt.Tooltip(f"{field}:N", title=title) for field, title in _TOOLTIP.items()],
    )
    return points


def _names(base: alt.Chart) -> alt.Chart:
    names: alt.Chart = (
        base.transform_filter("datum.kind !== 'other'")
        .mark_text(align="left", dx=9, dy=-9, fontSize=12, fontWeight=600)
        .encode(x="cost:Q", y="score:Q", text="name:N", color=_colour())
    )
    return names


def _colour() -> alt.Color:
    import altair as alt

    scale = alt.Scale(domain=list(_COLOURS), range=list(_COLOURS.values()))
    return alt.Color("kind:N", scale=scale, legend=None)


_TOOLTIP = {
    "name": "harness",
    "change": "what changed",
    "dollars": "$ for 1,000 tasks",
    "against": "against the baseline",
    "scored": "score",
    "changed": "answers changed",
    "right": "right answers",
    "seconds": "a task takes",
    "verdict": "verdict",
    "judged": "stamp",
}
_CONFIG: dict[str, Any] = {
    "font": "system-ui, sans-serif",
    "view": {"stroke": None},
    "axis": {
        "domain": False,
        "ticks": False,
        "grid": True,
        "gridColor": "var(--line)",
        "gridWidth": 1,
        "labelColor": "var(--muted)",
        "labelFontSize": 12,
        "labelPadding": 8,
        "titleColor": "var(--muted)",
        "titleFontSize": 12,
        "titleFontWeight": 400,
        "titlePadding": 14,
    },
    "legend": {
        "labelColor": "var(--muted)",
        "labelFontSize": 12,
        "symbolSize": 90,
        "symbolStrokeWidth": 0,
        "columnPadding": 22,
        "offset": 14,
    },
}
