import pytest
import typer

from harnesspro.cli import running, session
from harnesspro.cli.documents import plan_for
from harnesspro.cli.running import parse_channels, parse_directions, parse_models
from harnesspro.config import RunConfig, RunHeader
from harnesspro.core.errors import ConfigError, UsageError
from harnesspro.core.plan import Plan
from harnesspro.core.records import Task
from harnesspro.core.splits import split

CONFIG = RunConfig(
    verb="improve", harness_ref="mine", tasks_ref="t.jsonl", models={"writer": "sim/small"}
)


@pytest.mark.parametrize(
    ("options", "models"),
    [
        (None, {}),
        ([], {}),
        (["writer=sim/small"], {"writer": "sim/small"}),
        (["a=x", "b=y"], {"a": "x", "b": "y"}),
        (["a=x", "a=y"], {"a": "y"}),
        (["a=x=y:z"], {"a": "x=y:z"}),
    ],
)
def test_models_are_named_role_by_role(options, models):
    assert parse_models(options) == models


@pytest.mark.parametrize("option", ["", "writer", "=sim/small", "writer=", "="])
def test_a_model_option_without_both_halves_says_how_to_write_it(option):
    with pytest.raises(UsageError) as caught:
        parse_models(["a=x", option])
    assert str(caught.value) == f"--model {option}: no ROLE=MODEL; e.g. writer=openai/gpt-5-mini"


@pytest.mark.parametrize(
    ("option", "directions"),
    [
        (None, None),
        ("cost", ("cost",)),
        ("success,cost", ("success", "cost")),
        (" cost , success ,", ("cost", "success")),
        ("cost,cost", ("cost",)),
    ],
)
def test_directions_are_words_between_commas(option, directions):
    assert parse_directions(option) == directions


@pytest.mark.parametrize("option", ["", ",", "speed", "cost,speed", "Cost"])
def test_another_direction_is_refused_with_the_ones_there_are(option):
    with pytest.raises(UsageError) as caught:
        parse_directions(option)
    assert str(caught.value) == (f"--direction {option}: not a direction; expected cost, success")


def test_channels_are_kind_and_id():
    options = ["panel=openai/x", "judge=a=b", "verifier=http://127.0.0.1:8000/v?a=1"]
    assert parse_channels(options) == (
        "panel:openai/x",
        "judge:a=b",
        "verifier:http://127.0.0.1:8000/v?a=1",
    )
    assert parse_channels(None) is parse_channels([]) is None


@pytest.mark.parametrize(
    ("option", "told"),
    [
        ("", "no such kind of channel; expected panel=… or judge=… or verifier=…"),
        ("openai/x", "no such kind of channel; expected panel=… or judge=… or verifier=…"),
        ("user=x", "no such kind of channel; expected panel=… or judge=… or verifier=…"),
        ("panel", "no MODEL; e.g. panel=openai/gpt-5-mini"),
        ("judge= ", "no MODEL; e.g. judge=openai/gpt-5-mini"),
        ("verifier=", "no URL; e.g. verifier=http://127.0.0.1:8000/verify"),
    ],
)
def test_a_channel_without_kind_or_id_says_how_to_write_it(option, told):
    with pytest.raises(UsageError) as caught:
        parse_channels(["panel=x", option])
    assert str(caught.value) == f"--channel {option}: {told}"


def test_what_cannot_change_on_the_way_is_refused_beside_resume():
    app = typer.Typer()
    running.register(app)
    given = ["improve", "mine", "--resume", "latest", "--seed", "0", "--dry-run"]
    given += ["--channel", "judge=sim/a", "--probes", "0"]

    with pytest.raises(UsageError, match="also HARNESS, --channel, --probes, --seed, --dry-run; "):
        app(args=given, prog_name="harnesspro", standalone_mode=False)


# --- what a sitting would be -------------------------------------------------------------------


def sizes(n_tasks, *, has_gold=False, **changes):
    plan = plan_for(CONFIG.model_copy(update=changes), n_tasks, has_gold=has_gold)
    return plan.n_search, plan.n_confirm, plan.n_sealed


@pytest.mark.parametrize(
    ("n_tasks", "changes", "found"),
    [
        (240, {}, (80, 160)),
        (30, {}, (20, 10)),
        (10, {}, (10, 0)),
        (240, {"n_search": 24, "n_confirm": 64}, (24, 64)),
        (50, {"n_search": 24, "n_confirm": 64}, (24, 26)),
        (20, {"n_search": 24, "n_confirm": 64}, (20, 0)),
        (240, {"n_confirm": 0}, (80, 0)),
    ],
)
def test_the_plan_has_the_sizes_the_run_would_have(n_tasks, changes, found):
    words = ("".join(chr(97 + int(digit)) for digit in f"{i:03d}") for i in range(n_tasks))
    tasks = [Task(task_id=word, input=word) for word in words]
    config = CONFIG.model_copy(update=changes)
    parts = split(tasks, split_key="k", n_search=config.n_search, n_confirm=config.n_confirm)

    assert sizes(n_tasks, **changes) == (*found, 0)
    assert (len(parts.search), len(parts.confirm)) == found


@pytest.mark.parametrize(
    ("n_tasks", "changes", "found"),
    [
        (240, {}, (80, 112, 48)),
        (200, {}, (66, 134, 0)),
        (240, {"n_confirm": 64}, (80, 64, 0)),
        (240, {"open_gold": False}, (80, 160, 0)),
    ],
)
def test_where_there_is_gold_to_open_and_room_a_fifth_is_kept_for_it(n_tasks, changes, found):
    assert sizes(n_tasks, has_gold=True, **changes) == found


def test_the_plan_takes_the_rest_from_the_configuration():
    config = CONFIG.model_copy(update={"n_rounds": 3, "max_candidates": 5, "n_repeats": 2})
    assert plan_for(config, 240, has_gold=False) == Plan(
        n_search=80,
        n_confirm=160,
        n_rounds=3,
        max_candidates=5,
        max_picks=2,
        first_block=12,
        n_repeats=2,
        n_probes=640,
    )


def test_going_on_with_a_cap_that_is_none_is_refused_before_anything_starts(tmp_path):
    run_dir = session.make_run_dir(tmp_path, "20261130-214611-7f3a")
    header = RunHeader(
        run_id=run_dir.name,
        config=CONFIG,
        harness_name="mine",
        base_harness_id="h",
        created_at="2026-11-30",
        prices=(),
        isolation="S3",
        split_key="k",
    )
    (run_dir / "run.json").write_text(header.model_dump_json(by_alias=True))

    with pytest.raises(ConfigError, match=r"option budget_usd: -1\.0"):
        session.resume_run(
            "latest", {"budget_usd": -1.0}, out=str(tmp_path), as_json=True, quiet=True
        )


def test_a_run_folder_is_the_users_own(tmp_path):
    run_dir = session.make_run_dir(tmp_path / "out", "r-1")
    assert run_dir == tmp_path / "out/runs/r-1"
    assert run_dir.stat().st_mode & 0o777 == 0o700


def test_a_folder_that_cannot_be_made_names_another_out(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="choose another --out"):
        session.make_run_dir(tmp_path / "file", "r-1")
