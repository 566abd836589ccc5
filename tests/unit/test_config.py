from pathlib import Path

import pytest

from harnesspro.config import RunConfig, RunHeader, merge, out_folder, validated
from harnesspro.core.errors import ConfigError
from harnesspro.core.records import Defaults, Price
from tests.unit.builders import a_harness

NAMES = ("IMPROVER_MODEL", "BUDGET_USD", "TIME_LIMIT_S", "CONCURRENCY", "ALLOW_UNSANDBOXED")
CHANNELS = "HARNESSPRO_CHANNELS"
MODELS = {"writer": "sim/small"}


@pytest.fixture(autouse=True)
def nothing_in_the_environment(monkeypatch):
    for name in NAMES:
        monkeypatch.delenv(f"HARNESSPRO_{name}", raising=False)
    monkeypatch.delenv(CHANNELS, raising=False)


def merged(defaults=None, **flags):
    """What a run of a harness with these defaults and flags is configured as."""
    given = {"tasks": "tasks.jsonl", "models": MODELS} | (defaults or {})
    manifest = a_harness().manifest.model_copy(update={"defaults": Defaults(**given)})
    return merge(manifest, flags, verb="improve", harness_ref="mine")


def refused(defaults=None, **flags):
    with pytest.raises(ConfigError) as caught:
        merged(defaults, **flags)
    return str(caught.value)


def test_without_flags_and_environment_the_manifest_speaks():
    everything = {
        "repeats": 2,
        "n_search": 24,
        "n_confirm": 64,
        "max_candidates": 4,
        "max_picks": 1,
        "first_block": 8,
        "concurrency": 3,
    }
    assert merged(everything) == RunConfig(
        verb="improve",
        harness_ref="mine",
        tasks_ref="tasks.jsonl",
        models=MODELS,
        n_repeats=2,
        n_search=24,
        n_confirm=64,
        max_candidates=4,
        max_picks=1,
        first_block=8,
        concurrency=3,
    )


def test_what_nobody_sets_has_its_default():
    assert merged() == RunConfig(
        verb="improve", harness_ref="mine", tasks_ref="tasks.jsonl", models=MODELS
    )


def test_flags_go_before_the_environment_and_that_before_the_manifest(monkeypatch):
    assert merged({"concurrency": 2}).concurrency == 2
    monkeypatch.setenv("HARNESSPRO_CONCURRENCY", "3")
    assert merged({"concurrency": 2}).concurrency == 3
    assert merged({"concurrency": 2}, concurrency=4).concurrency == 4
    assert merged({"concurrency": 2}, concurrency=None).concurrency == 3


def test_the_environment_sets_what_a_user_wants_for_all_runs(monkeypatch):
    values = ("sim/planner", "1.5", "60", "2", "1")
    for name, value in zip(NAMES, values, strict=True):
        monkeypatch.setenv(f"HARNESSPRO_{name}", value)
    found = merged()

    assert (
        found.improver_model,
        found.budget_usd,
        found.time_limit_s,
        found.concurrency,
        found.allow_unsandboxed,
    ) == ("sim/planner", 1.5, 60.0, 2, True)


def test_channels_are_named_by_kind_and_each_has_a_model():
    names = ("panel:openai/x", "judge:openai/x:free", "verifier:http://127.0.0.1:8000/v")
    found = merged(channels=(*names, names[0]))
    assert found.channels == names
    assert found.channel_models == {
        "panel:openai/x": "openai/x",
        "judge:openai/x:free": "openai/x:free",
        "verifier:http://127.0.0.1:8000/v": "verifier/http://127.0.0.1:8000/v",
    }


def test_channels_of_the_environment_are_for_improving_alone(monkeypatch):
    monkeypatch.setenv(CHANNELS, " panel:openai/x  judge:openai/y ")
    assert merged().channels == ("panel:openai/x", "judge:openai/y")
    assert merged(channels=("judge:openai/z",)).channels == ("judge:openai/z",)
    manifest = a_harness().manifest.model_copy(
        update={"defaults": Defaults(tasks="t.jsonl", models=MODELS)}
    )
    assert merge(manifest, {}, verb="eval", harness_ref="mine").channels == ()


def test_a_panel_of_the_harnesss_own_model_is_refused_and_a_judge_is_not():
    assert refused(channels=("panel:sim/small",)) == (
        "--channel panel=sim/small: the model that the harness itself asks, so its votes are not "
        "independent; expected another model, best of another family; name another, or ask it as a "
        "judge (--channel judge=sim/small)"
    )
    assert merged(channels=("judge:sim/small",)).channels == ("judge:sim/small",)


def test_a_flag_that_says_no_is_a_flag(monkeypatch):
    monkeypatch.setenv("HARNESSPRO_ALLOW_UNSANDBOXED", "1")
    found = merged(open_gold=False, allow_unsandboxed=False, seed=0)
    assert (found.open_gold, found.allow_unsandboxed) == (False, False)


def test_models_are_chosen_role_by_role():
    assert merged(models={}).models == MODELS
    assert merged(models={"writer": "openai/x"}).models == {"writer": "openai/x"}
    assert merged({"models": {}}, models={"writer": "openai/x"}).models == {"writer": "openai/x"}


def test_a_run_without_tasks_is_refused():
    assert refused({"tasks": None}) == (
        "--tasks: nothing; expected a tasks.jsonl or a builtin:NAME; name the tasks"
    )


def test_a_role_without_a_model_is_named():
    assert refused({"models": {}}) == (
        "role writer: no model; add --model writer=MODEL (e.g. openai/gpt-5-mini)"
    )


def test_a_model_for_no_role_is_named_with_the_roles_there_are():
    assert refused(models={"editor": "sim/small"}) == (
        "--model editor=…: no such role; expected one of writer"
    )


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        (
            {"n_rounds": 0},
            "option n_rounds: 0; expected Input should be greater than or equal to 1",
        ),
        ({"budget_usd": 0.0}, "option budget_usd: 0.0; expected Input should be greater than 0"),
        ({"margin": 1.0}, "option margin: 1.0; expected Input should be less than 1"),
        (
            {"n_search": 3},
            "option n_search: 3; expected Input should be greater than or equal to 4",
        ),
        (
            {"directions": ("speed",)},
            "option directions.0: 'speed'; expected Input should be 'cost' or 'success'",
        ),
        (
            {"channels": ("vibes:x",)},
            "option channels: ('vibes:x',); expected Value error, panel:MODEL, judge:MODEL or "
            "verifier:URL",
        ),
        (
            {"n_probes": -1},
            "option n_probes: -1; expected Input should be greater than or equal to 0",
        ),
        ({"typo": 1}, "option typo: 1; expected Extra inputs are not permitted"),
    ],
)
def test_a_value_out_of_range_names_the_option(flags, told):
    assert refused(**flags) == told


def test_a_value_of_the_environment_that_is_none_names_the_variable(monkeypatch):
    monkeypatch.setenv("HARNESSPRO_BUDGET_USD", "a lot")
    assert refused() == (
        "HARNESSPRO_BUDGET_USD: 'a lot'; expected Input should be a valid number, unable to parse "
        "string as a number"
    )


def test_a_configuration_reads_back_as_itself():
    config = merged(budget_usd=2.0, directions=("cost",))
    assert validated(config.model_dump()) == config
    assert validated(config.model_dump(mode="json")) == config


def header(seal):
    price = Price(
        model="sim/small",
        in_nanos_per_mtok=1,
        out_nanos_per_mtok=1,
        cache_read_nanos_per_mtok=1,
        cache_write_nanos_per_mtok=1,
        source="test",
    )
    return RunHeader(
        run_id="r",
        config=merged(),
        harness_name="small",
        base_harness_id="h",
        created_at="2026-01-01",
        prices=(price,),
        isolation="S3",
        split_key="k",
        seal=seal,
    )


def test_a_header_names_its_models_and_whether_there_is_gold_and_reads_back_as_itself():
    sealed = header({"taskset_id": "ts-1"})

    assert sealed.models == ("sim/small",)
    assert [header(seal).has_gold for seal in (None, {}, {"taskset_id": "ts-1"})] == [
        False,
        False,
        True,
    ]
    text = sealed.model_dump_json(by_alias=True)
    assert '"schema":"harnesspro/run-header@1"' in text
    assert RunHeader.model_validate_json(text) == sealed


def test_runs_are_kept_under_an_absolute_folder(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))

    assert out_folder(None) == tmp_path.resolve() / ".harnesspro"
    assert out_folder("~/runs") == (tmp_path / "home/runs").resolve()
    assert out_folder("/a/../b") == Path("/b")


@pytest.mark.parametrize("option", ["budget_usd", "time_limit_s"])
@pytest.mark.parametrize("value", [float("inf"), float("nan"), 1e300, 0.0])
def test_a_bound_that_bounds_nothing_is_refused(option, value):
    assert refused(**{option: value}).startswith(f"option {option}: ")
