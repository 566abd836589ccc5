"""Texts made for whoever reads them on a screen: in a terminal, in a spreadsheet, in a browser."""

import csv
import io
import json
import subprocess
import sys
import unicodedata
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
import typer
from rich.console import Console

from harnesspro.cli import channels, looking
from harnesspro.cli.app import report as report_error
from harnesspro.core.documents import RunDocument
from harnesspro.core.errors import HarnessProError, UsageError
from harnesspro.core.records import Candidate, Trial
from harnesspro.store.ledger import LedgerWriter
from harnesspro.store.runs import write_json
from harnesspro.store.trees import GitTrees
from harnesspro.view.live import LiveProgress
from harnesspro.view.page import page_html
from harnesspro.view.rows import csv_text
from harnesspro.view.text import safe_lines, safe_text
from tests.unit.cli.runs import BASE, BETTER, PATCH, RUN_ID, candidate, record, report, trial
from tests.unit.view.test_page import evil_document

SCREEN: dict[str, str] = {
    "cleared": "\x1b[2J\x1b[H",
    "coloured as the prompt": "\x1b[0;32mroot@host:~# \x1b[0m",
    "clipboard (OSC 52)": "\x1b]52;c;cm0gLXJmIH4=\x07",
    "link (OSC 8)": "\x1b]8;;http://evil.example\x07safe\x1b]8;;\x07",
    "title": "\x1b]0;owned\x07",
    "one-byte control": "\x9b2J\x9d0;owned\x9c",
    "line overwritten": "accepted\rrejected",
    "backspaces": "no\x08\x08yes",
    "device string": "\x1bP$qm\x1b\\",
    "right to left": "\u202egnp.exe",
    "isolates": "\u2066a\u2069\u2068",
    "zero width": "pass\u200bword\u2060",
    "null": "a\x00b",
    "line separators": "a\u2028b\u2029c\x85d\x0be",
    "tags": "ok\U000e0041\U000e007f",
    "half a character": "x\ud800y",
    "markup": "[red]x[/red][link=http://evil.example]y[/link]",
}
EVIL = " ".join(text for name, text in SCREEN.items() if name != "half a character")


def steering(text: str) -> set[str]:
    """What in a text a terminal would act on, or an eye would miss; line ends and tabs apart."""
    bad = {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}
    return {hex(ord(c)) for c in text if c not in "\n" and unicodedata.category(c) in bad}


@pytest.mark.parametrize("name", SCREEN)
def test_case_42_a_text_shown_as_it_is_steers_and_shown_safely_does_not(name: str):
    text = SCREEN[name]
    as_it_is = steering(text) or {"markup"}
    assert as_it_is
    assert steering(safe_text(text)) == steering(safe_lines(text)) == set()


def evil_report() -> RunDocument:
    fine: RunDocument = report()
    point = fine.front[0].model_copy(update={"summary": EVIL, "proposer": EVIL})
    found = evil_document()
    words = {"harness": EVIL, "harness_name": EVIL, "words": (EVIL,), "models": {EVIL: EVIL}}
    stop = fine.stop.model_copy(update={"detail": EVIL})
    return fine.model_copy(
        update={
            **words,
            "stop": stop,
            "front": (point,),
            "candidates": (point,),
            "findings": found.findings,
            "referee": found.referee.model_copy(update={"reason": EVIL, "advice": (EVIL,)}),
            "verdicts": tuple(
                v.model_copy(update={"candidate_id": BETTER.harness_id, "reason": EVIL})
                for v in found.verdicts
            ),
        }
    )


TASK = "task-\x1b[2J\u202e0000"


def evil_trial() -> Trial:
    fields = {"answer": {"text": EVIL, "=1+1": EVIL}, "notes": (EVIL,), "task_id": TASK}
    return trial(BETTER, "task-aaaa000000000000").model_copy(update=fields)


def evil_candidate() -> Candidate:
    patch = PATCH.model_copy(update={"summary": EVIL, "hypothesis": EVIL})
    return candidate(BETTER, patch).model_copy(update={"proposer": EVIL})


@pytest.fixture
def out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A finished run in which every text from outside is hostile."""
    monkeypatch.chdir(tmp_path)
    run_dir = tmp_path / ".harnesspro" / "runs" / RUN_ID
    run_dir.mkdir(parents=True)
    (run_dir / "run.json").write_text(json.dumps({"harness_name": EVIL}))
    for harness in (BASE, BETTER):
        GitTrees(run_dir).put(harness, message=EVIL)
    with LedgerWriter(run_dir) as ledger:
        for made in (candidate(BASE), evil_candidate()):
            ledger.put("candidate", made.candidate_id, made.model_dump(mode="json"))
        record(ledger, evil_trial())
    write_json(run_dir / "report.json", evil_report().model_dump(mode="json", by_alias=True))
    return tmp_path / ".harnesspro"


def printed(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    app = typer.Typer()
    looking.register(app)
    channels.register(app)
    try:
        app(args=list(words), prog_name="harnesspro", standalone_mode=False)
    except HarnessProError as error:
        report_error(error, as_json="--json" in words)
    said = capsys.readouterr()
    return said.out + said.err


VERBS = {
    "show": ["show"],
    "show json": ["show", "--json"],
    "show csv": ["show", "--csv"],
    "channels": ["channels", "latest"],
    "diff": ["diff", "latest", "baseline", BETTER.harness_id],
    "trace": ["trace", "latest", BETTER.harness_id, TASK],
    "trace json": ["trace", "latest", BETTER.harness_id, TASK, "--json"],
    "a run of an evil name": ["show", EVIL],
    "a candidate of an evil name": ["diff", "latest", "baseline", EVIL],
    "a task of an evil name": ["trace", "latest", BETTER.harness_id, EVIL],
}


@pytest.mark.parametrize("verb", VERBS)
def test_case_42_no_verb_hands_it_to_the_terminal(
    capsys: pytest.CaptureFixture[str], out: Path, verb: str
):
    said = printed(capsys, *VERBS[verb])
    assert "x1b" in said or "u001b" in said, said  # it is shown, as what it is
    assert steering(said.encode("utf-8", "surrogatepass").decode("utf-8", "replace")) == set()


def test_case_42_what_those_verbs_read_would_steer(out: Path):
    stored = json.loads((out / "runs" / RUN_ID / "report.json").read_text())
    assert steering(stored["harness_name"]) >= {"0x1b", "0x202e", "0x0", "0x8", "0x9b"}


def test_case_42_nor_does_the_progress_of_a_run():
    console = Console(file=io.StringIO(), force_terminal=False, width=100)
    with LiveProgress(console) as progress:
        progress.emit("run.started", harness=EVIL, run_id=EVIL, dir=EVIL)
        for event in (
            "phase",
            "candidate",
            "refused",
            "dropped",
            "verdict",
            "finding",
            "run.stopped",
        ):
            progress.emit(
                event, name=EVIL, id=EVIL, summary=EVIL, reason=EVIL, agent=EVIL, kind=EVIL
            )
    assert isinstance(console.file, io.StringIO)
    assert steering(console.file.getvalue()) == set()


FORMULAS = (
    '=HYPERLINK("http://evil.example","x")',
    "+1+1",
    "-2+3",
    "@SUM(A1)",
    "\t=1",
    "\r=1",
    " =1",
)


@pytest.mark.parametrize("formula", FORMULAS)
def test_case_42_no_cell_of_a_spreadsheet_is_a_formula(formula: str):
    point = report().front[0].model_copy(update={"summary": formula, "proposer": formula})
    document = report().model_copy(update={"front": (point,), "candidates": (point,)})
    raw = io.StringIO()
    csv.writer(raw).writerow([formula])
    assert (
        next(csv.reader(io.StringIO(raw.getvalue(), newline="")))[0]
        .strip()
        .startswith(("=", "+", "-", "@"))
    )
    for line in csv.DictReader(io.StringIO(csv_text(document))):
        for name in ("summary", "proposer"):
            assert not line[name].lstrip().startswith(("=", "+", "-", "@"))


# --- the page ------------------------------------------------------------------------------------

SCRIPTS = (
    "<script>alert(1)</script>",
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    '" onmouseover="alert(1)',
    "' onfocus='alert(1)' autofocus='",
    "<svg/onload=alert(1)>",
    "<!--<script>",
    "]]><script>alert(1)</script>",
    "javascript:alert(1)",
    "<a href=javascript:alert(1)>x</a>",
    "<base href=//evil.example>",
    "<meta http-equiv=refresh content=0;url=//evil.example>",
    "<style>*{background:url(//evil.example)}</style>",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "\u2028alert(1)//",
)


class Tags(HTMLParser):
    """Every tag with its attributes, and the text outside scripts and styles."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text, self._closed = "", True
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._closed = tag not in ("script", "style")

    def handle_endtag(self, tag: str) -> None:
        self._closed = True

    def handle_data(self, data: str) -> None:
        self.text += data if self._closed else ""


def with_text(text: str) -> RunDocument:
    point = report().front[0].model_copy(update={"summary": text, "proposer": text})
    changed: dict[str, Any] = {"front": (point,), "candidates": (point,)}
    changed |= {"harness": text, "harness_name": text, "words": (text,), "models": {text: text}}
    fine: RunDocument = report()
    return fine.model_copy(update=changed)


PLAIN = Tags(page_html(with_text("plain")))


@pytest.mark.parametrize("script", SCRIPTS)
def test_case_43_a_text_in_the_page_stays_text(script: str):
    page = Tags(page_html(with_text(script)))
    assert [tag for tag, _ in page.tags] == [tag for tag, _ in PLAIN.tags]
    assert [sorted(a) for _, a in page.tags] == [sorted(a) for _, a in PLAIN.tags]
    assert safe_text(script) in page.text
    assert not [v for _, a in page.tags for k, v in a.items() if k in ("src", "href", "action")]


@pytest.mark.parametrize("script", [s for s in SCRIPTS if s.startswith("<") and s[1] != "!"])
def test_case_43_a_page_that_pastes_texts_is_made_to_hold_tags(script: str):
    assert len(Tags(f"<p>{script}</p>").tags) > 1


def test_case_43_the_policy_of_the_page_lets_nothing_else_run_or_load():
    (policy,) = [a["content"] for _, a in PLAIN.tags if a.get("http-equiv")]
    rules = dict(rule.strip().split(" ", 1) for rule in (policy or "").split(";"))
    assert rules["default-src"] == rules["base-uri"] == rules["form-action"] == "'none'"
    assert set(rules) == {"default-src", "script-src", "style-src", "base-uri", "form-action"}
    for rule in ("script-src", "style-src"):
        assert rules[rule].startswith("'sha256-")
        assert len(rules[rule].split()) == 1
    assert not [name for _, a in PLAIN.tags for name in a if name.startswith("on")]


def test_case_43_looking_at_a_run_opens_no_socket(out: Path):
    """There is no server to forge a request to: the page is a file."""
    code = (
        "import socket, sys\n"
        "def refuse(*a, **k): raise SystemExit('a socket was opened')\n"
        "socket.socket.bind = socket.socket.connect = socket.socket.listen = refuse\n"
        "from harnesspro.cli.app import main\n"
        f"sys.argv = ['harnesspro', 'view', 'latest', '--html', {str(out / 'p.html')!r}]\n"
        "main()\n"
    )
    root = str(Path(__file__).parents[2])
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=out.parent,
        capture_output=True,
        check=False,
        env={"PYTHONPATH": root, "PATH": "/usr/bin:/bin", "HOME": str(out)},
    )
    assert (done.returncode, b"a socket" in done.stderr) == (0, False), done.stderr
    assert (out / "p.html").read_text().startswith("<!doctype html>")


def test_case_43_no_path_in_a_reference_leads_out_of_the_runs(out: Path):
    (out / "secret.json").write_text("{}")
    for ref in ("../../etc", "/etc/passwd", "..", "runs/../..", "\x00", f"{RUN_ID}/../../secret"):
        with pytest.raises((UsageError, ValueError)):
            looking.run_folder(ref, str(out))
