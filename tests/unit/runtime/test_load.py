import hashlib
import json
import os
import py_compile
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import harnesspro
from harnesspro.core.errors import (
    ConfigError,
    IntegrityError,
    ManifestError,
    ProviderError,
    RequestRefused,
    UsageError,
)
from harnesspro.core.money import usd_from_nanos
from harnesspro.core.ports import ChatReply
from harnesspro.core.records import Price, Task, Usage
from harnesspro.formats.native import load_harness
from harnesspro.providers.sim import draw_tasks
from harnesspro.runtime.load import Agent, load
from harnesspro.testing.doubles import ScriptedProvider
from tests.unit.providers import planted_world

LEAN = planted_world.ROOT / "tests/data/planted_lean"
MANIFEST = """\
format: harnesspro/1
name: {name}
about: A test.
entry: {{python: "solver.py:solve"}}
answer: {{kind: text}}
roles: {{writer: {{max_output_tokens: 50}}}}
parts:
  system: {{path: prompts/system.md, kind: prompt}}
  flow: {{path: solver.py, kind: code}}
limits: {{usd: 0.001, calls: 3, wall_s: {wall_s}}}
defaults: {{models: {{writer: sim/small}}}}
"""
ASK = 'return h.ask("writer", task["input"]).text'
PRICE = Price(
    model="m",
    in_nanos_per_mtok=1_000_000,
    out_nanos_per_mtok=10_000_000_000,
    cache_read_nanos_per_mtok=1_000_000,
    cache_write_nanos_per_mtok=1_000_000,
    source="test",
)
"""A full reply of 50 tokens costs 500,000 nano-dollars: half of what a trial may cost."""


def folder(at: Path, body: str = ASK, *, name="toy", wall_s=30.0, **files: str) -> Path:
    """A harness folder whose `solve` has this body, and further files by path."""
    texts = {
        "harness.yaml": MANIFEST.format(name=name, wall_s=wall_s),
        "prompts/system.md": "Be brief.\n",
        "solver.py": f"from harnesspro.sdk import *\n\ndef solve(task, h):\n    {body}\n",
        **files,
    }
    for path, text in texts.items():
        (at / path).parent.mkdir(parents=True, exist_ok=True)
        (at / path).write_text(text)
    return at


def agent(at, body=ASK, script=("yes",) * 9, *, price=PRICE, **changes) -> Agent:
    """The harness with this body on a model that answers by the script."""
    made = folder(at, body, **changes)
    provider = ScriptedProvider(script, price=price)
    return Agent(load_harness(made), made, models={"writer": "m"}, providers={"m": provider})


def came(result):
    return result.outcome, result.answer, result.fault


def requests_of(one: Agent):
    provider = one.providers["m"]
    assert isinstance(provider, ScriptedProvider)
    return provider.requests


# --- one run -----------------------------------------------------------------------------------


def test_a_loaded_harness_answers_as_it_does_anywhere_else():
    one = load(LEAN)
    tasks = [
        Task(task_id=f"t{i}", family=record["family"], input=record["input"])
        for i, record in enumerate(draw_tasks(7, 12))
    ]
    for task in tasks:
        expected = planted_world.trajectory(one.harness, task)
        result = one.run(task)

        assert (result.outcome, result.answer) == (expected.trial.outcome, expected.trial.answer)
        assert result.cost_usd == usd_from_nanos(expected.trial.cost_nanos)
        assert result.usage == sum((step.usage for step in expected.steps), Usage())
        assert result.n_calls == len(expected.steps)
        assert one.run(task.input).answer == result.answer


def test_the_package_itself_loads(tmp_path):
    assert harnesspro.load(LEAN).name == "planted-lean"
    assert harnesspro.Agent is Agent


def test_a_draw_is_asked_with_its_own_seeds_and_the_same_again(tmp_path):
    one = agent(tmp_path, 'return [h.ask("writer", "q").text for _ in range(2)]')
    for draw in ("search/0", "search/0", "search/1"):
        one.run("q", draw=draw)
    seeds = [request.seed for request in requests_of(one)]

    assert seeds[0:2] == seeds[2:4]
    assert len(set(seeds)) == 4


def test_a_task_with_files_is_refused_rather_than_run_without_them(tmp_path):
    with pytest.raises(UsageError, match="task t: has files"):
        agent(tmp_path).run(Task(task_id="t", input="q", files={"a.txt": "x"}))


def test_the_bound_of_the_role_holds_whatever_is_asked(tmp_path):
    one = agent(
        tmp_path,
        'h.ask("writer", "a"); h.ask("writer", "b", max_output_tokens=9); '
        'h.ask("writer", "c", max_output_tokens=999); return 1',
    )
    one.run("q")
    assert [request.max_output_tokens for request in requests_of(one)] == [50, 9, 50]


def test_a_lone_stop_word_is_one_word(tmp_path):
    one = agent(tmp_path, 'return h.ask("writer", "q", stop="END").text')
    one.run("q")
    assert requests_of(one)[0].stop == ("END",)


@pytest.mark.parametrize(
    ("body", "came_of_it"),
    [
        ("return None", ("malformed", None, "solve returned None")),
        ('raise Malformed("no vote")', ("malformed", None, "no vote")),
        ("return 1 / 0", ("crashed", None, "ZeroDivisionError: division by zero")),
        ('raise ModelFault("I swear")', ("crashed", None, "I swear")),
        ("return float('nan')", ("crashed", None, "ValueError: Out of range float values are ")),
        ('return h.ask("editor", "q")', ("crashed", None, "ValueError: model: 'editor'; expect")),
        (
            'return h.ask("writer", "q", max_output_tokens=0)',
            ("crashed", None, "ValueError: max_tokens: expected a whole number of at least 1"),
        ),
    ],
)
def test_what_the_harness_does_wrong_is_a_result(tmp_path, body, came_of_it):
    outcome, answer, fault = came(agent(tmp_path, body).run("q"))
    assert (outcome, answer) == came_of_it[:2]
    assert fault is not None
    assert fault.startswith(came_of_it[2])


def test_a_provider_that_fails_for_good_is_the_callers_to_know(tmp_path):
    one = agent(tmp_path, script=[ProviderError("m", "no key"), "yes"])
    with pytest.raises(ProviderError, match="no key"):
        one.run("q")
    assert came(one.run("q")) == ("answered", "yes", None)


def test_a_harness_that_bears_a_fault_has_answered(tmp_path):
    body = (
        'try:\n        return h.ask("writer", "q").text\n    except ModelFault:\n        return "-"'
    )
    assert came(agent(tmp_path, body, [ProviderError("m", "down")]).run("q")) == (
        "answered",
        "-",
        None,
    )


def test_a_request_a_provider_refuses_is_the_harnesss_fault(tmp_path):
    result = agent(tmp_path, script=[RequestRefused("m", "too long")]).run("q")
    assert came(result) == ("crashed", None, "ValueError: too long")


def test_ctrl_c_stops_the_caller_and_not_one_task(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        agent(tmp_path, "raise KeyboardInterrupt").run("q")


# --- limits ------------------------------------------------------------------------------------


def test_calls_are_limited_and_refused_ones_count(tmp_path):
    loop = 'for _ in range(9):\n        h.ask("writer", "q")'
    result = agent(tmp_path, loop).run("q")
    assert came(result) == ("limit", None, "all 3 calls of the trial are used up")
    assert result.n_calls == 3

    stubborn = loop.replace('h.ask("writer", "q")', "try: h.ask('writer', 'q')") + (
        "\n        except ValueError: pass"
    )
    refused = agent(tmp_path / "b", stubborn, [RequestRefused("m", "too long")] * 9).run("q")
    assert (refused.outcome, refused.n_calls) == ("limit", 3)


def test_dollars_are_limited_by_the_worst_the_next_call_can_cost(tmp_path):
    def full(request):
        return ChatReply(
            text="x",
            finish_reason="length",
            usage=Usage(out_tokens=50),
            model="m",
            latency_s=0.0,
        )

    body = 'h.ask("writer", "a"); h.ask("writer", "b"); return 1'
    result = agent(tmp_path, body, [full, full]).run("q")

    assert result.outcome == "limit"
    assert (result.n_calls, result.cost_usd) == (1, 0.0005)
    assert "of the trial's $0.0010 are used or held" in str(result.fault)


def test_what_a_schema_adds_to_a_prompt_counts_before_the_call(tmp_path):
    dear = PRICE.model_copy(update={"in_nanos_per_mtok": 100_000_000})
    body = 'return h.ask("writer", "q", response_format={{"big": "x" * {n}}}).text'

    assert agent(tmp_path / "a", body.format(n=1000), price=dear).run("q").outcome == "answered"
    assert agent(tmp_path / "b", body.format(n=9000), price=dear).run("q").outcome == "limit"


def test_the_wall_clock_is_looked_at_where_a_model_is_asked(tmp_path):
    body = 'import time; time.sleep(0.02); return h.ask("writer", "q").text'
    result = agent(tmp_path, body, wall_s=0.01).run("q")
    assert came(result) == ("limit", None, "wall clock: over 0.01 s")


def test_limits_are_each_runs_own(tmp_path):
    one = agent(tmp_path, 'return [h.ask("writer", "q").text for _ in range(3)]')
    assert [one.run("q").outcome for _ in range(3)] == ["answered"] * 3


def test_a_model_without_a_price_has_an_unknown_cost_and_no_dollar_limit(tmp_path):
    result = agent(tmp_path, price=None).run("q")
    assert (result.outcome, result.cost_usd) == ("answered", None)


# --- several at once ---------------------------------------------------------------------------


def test_runs_from_many_threads_do_not_meet(tmp_path):
    four = threading.Barrier(4, timeout=10)

    def answer(request):
        four.wait()
        text = request.messages[0]["content"]
        usage = Usage(uncached_in_tokens=len(text), out_tokens=1)
        return ChatReply(
            text=f"re {text}", finish_reason="stop", usage=usage, model="m", latency_s=0.0
        )

    one = agent(tmp_path, script=[answer] * 16)
    inputs = ["q" * n for n in range(1, 17)]
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(one.run, inputs))

    assert [result.answer for result in results] == [f"re {text}" for text in inputs]
    assert [result.usage.uncached_in_tokens for result in results] == list(range(1, 17))
    assert {result.n_calls for result in results} == {1}


def test_two_harnesses_with_modules_of_the_same_names_stand_side_by_side(tmp_path):
    body = 'return helper.NAME + h.run_tool("say", {"word": "!"})'

    def made(name):
        at = tmp_path / name
        files = {
            "helper.py": f'NAME = "{name}"\n',
            "tools/say.py": f'def say(word):\n    return "{name}" + word\n',
            "solver.py": f"import helper\n\ndef solve(task, h):\n    {body}\n",
        }
        return load(folder(at, **files))

    first, second = made("one"), made("two")
    assert [one.run("q").answer for one in (first, second, first)] == [
        "oneone!",
        "twotwo!",
        "oneone!",
    ]


def test_the_callers_own_modules_are_neither_met_nor_replaced(tmp_path, monkeypatch):
    mine = type(sys)("solver")
    monkeypatch.setitem(sys.modules, "solver", mine)
    before, path = dict(sys.modules), list(sys.path)
    files = {"tools/say.py": "def say():\n    return 'tool'\n"}
    one = load(folder(tmp_path, 'return h.run_tool("say", {})', **files))

    assert one.run("q").answer == "tool"
    assert sys.modules["solver"] is mine
    assert {name for name in sys.modules if name.partition(".")[0] == "tools"} <= before.keys()
    assert sys.path == path
    assert not list(tmp_path.rglob("*.pyc"))


def test_a_module_that_fails_to_load_leaves_nothing_behind(tmp_path):
    path = list(sys.path)
    with pytest.raises(ZeroDivisionError):
        load(folder(tmp_path, **{"solver.py": "def solve(task, h): ...\n1 / 0\n"}))
    assert "solver" not in sys.modules
    assert sys.path == path


# --- what may be loaded ------------------------------------------------------------------------


def exported(at: Path, **changes) -> Path:
    """A folder with the provenance file an export leaves."""
    made = folder(at, "return 'approved'")
    text = (made / "solver.py").read_text()
    approved = {"solver.py": hashlib.sha256(text.encode()).hexdigest()}
    provenance = {"approved": approved, "models": {"writer": "sim/large"}, **changes}
    (made / "provenance.json").write_text(json.dumps(provenance))
    return made


def test_an_export_runs_on_the_models_it_was_measured_with_unless_others_are_named(tmp_path):
    made, urls = exported(tmp_path, models={"writer": "local/x"}), {"local/x": "http://127.0.0.1:1"}
    assert load(made, server_urls=urls).models == {"writer": "local/x"}
    assert load(made, models={"writer": "sim/small"}).models == {"writer": "sim/small"}


def test_code_that_differs_from_what_was_approved_runs_only_where_the_caller_allows_it(tmp_path):
    made = exported(tmp_path, models={})
    assert load(made).run("q").answer == "approved"
    (made / "solver.py").write_text("def solve(task, h):\n    return 'mine'\n")

    with pytest.raises(IntegrityError) as caught:
        load(made)
    assert str(caught.value) == (
        f"{made / 'solver.py'}: code differs from what the export approved; review it, then pass "
        "allow_code=True"
    )
    assert load(made, allow_code=True).run("q").answer == "mine"


@pytest.mark.parametrize(
    "path",
    ["extra.py", "tools/new.py", "solver/__init__.py", "solver.abi3.so", "solver/__init__.so"],
)
def test_code_nobody_approved_is_refused(tmp_path, path):
    made = exported(tmp_path, models={})
    (made / path).parent.mkdir(exist_ok=True)
    (made / path).write_text("def solve(task, h):\n    return 'mine'\n")
    with pytest.raises(IntegrityError, match="differs from what the export approved"):
        load(made)


def test_compiled_code_that_would_stand_for_the_approved_is_refused(tmp_path):
    made = exported(tmp_path, models={})
    mine = tmp_path / "mine.py"
    mine.write_text("def solve(task, h):\n    return 'mine'\n")
    (made / "solver").mkdir()
    py_compile.compile(str(mine), cfile=str(made / "solver/__init__.pyc"), doraise=True)
    with pytest.raises(ManifestError, match="not UTF-8"):
        load(made)


def test_a_link_to_code_elsewhere_is_refused(tmp_path):
    made = exported(tmp_path, models={})
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "__init__.py").write_text("def solve(task, h):\n    return 'mine'\n")
    (made / "solver").symlink_to(elsewhere)
    with pytest.raises(ManifestError, match="a link"):
        load(made)


def test_approved_code_that_is_gone_is_refused(tmp_path):
    made = exported(tmp_path, models={}, approved={"helper.py": "0" * 64})
    with pytest.raises(IntegrityError, match=r"helper\.py"):
        load(made)


def test_a_changed_text_is_the_owners_right(tmp_path):
    made = exported(tmp_path, models={})
    (made / "prompts/system.md").write_text("Be kind.\n")
    assert load(made).run("q").answer == "approved"


def test_compiled_code_in_the_folder_does_not_speak_for_the_text(tmp_path):
    made = exported(tmp_path, models={})
    solver, other = made / "solver.py", tmp_path / "other.py"
    stamp, size = solver.stat().st_mtime, solver.stat().st_size
    other.write_text("def solve(task, h):\n    return 'compiled'\n".ljust(size - 1, "#") + "\n")
    os.utime(other, (stamp, stamp))
    cached = made / "__pycache__" / f"solver.{sys.implementation.cache_tag}.pyc"
    py_compile.compile(str(other), cfile=str(cached), doraise=True)
    other.unlink()

    assert load(made).run("q").answer == "approved"


def test_a_provenance_file_that_is_no_json_is_refused(tmp_path):
    made = exported(tmp_path)
    (made / "provenance.json").write_text("{")
    with pytest.raises(IntegrityError, match="not JSON"):
        load(made)
    (made / "provenance.json").write_text("[]")
    with pytest.raises(IntegrityError, match="no JSON object"):
        load(made)


def test_a_role_without_a_model_is_named(tmp_path):
    made = folder(tmp_path)
    text = (made / "harness.yaml").read_text()
    (made / "harness.yaml").write_text(text.replace("writer: sim/small", ""))
    with pytest.raises(ConfigError) as caught:
        load(made)
    assert str(caught.value) == f"{made}: role writer has no model; pass models={{...}}"


def test_a_folder_that_is_no_harness_or_runs_a_command_is_refused(tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(ConfigError):
        load(tmp_path / "nowhere")
    with pytest.raises(ManifestError, match=r"no harness\.yaml"):
        load(tmp_path / "empty")

    made = folder(tmp_path / "command")
    text = (made / "harness.yaml").read_text()
    entry = 'entry: {python: "solver.py:solve"}'
    (made / "harness.yaml").write_text(text.replace(entry, "entry: {command: [sh, run.sh]}"))
    with pytest.raises(ConfigError, match=r"a command harness; expected entry\.python"):
        load(made)
