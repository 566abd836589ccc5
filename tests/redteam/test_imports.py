"""Attacks by what a folder brings along: history, git's own hooks, YAML, pickles."""

import os
import pickle
import subprocess
import time
from pathlib import Path

import pytest
import yaml

from harnesspro.core.errors import ConfigError, HarnessProError, IntegrityError
from harnesspro.core.records import Patch, ReplaceFile
from harnesspro.formats.native import apply_patch, load_harness
from harnesspro.formats.yaml_text import parse_yaml
from harnesspro.store.trees import GitTrees
from tests.redteam.bench import Instant, candidate, job, trial_ground

GOLD = "the fix is 4711"
GIT = ["git", "-c", "user.name=n", "-c", "user.email=e@e", "-c", "commit.gpgsign=false"]


def git(folder: Path, *words: str) -> str:
    clean = {"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1"}
    done = subprocess.run([*GIT, *words], cwd=folder, env=clean, capture_output=True, check=True)
    return done.stdout.decode(errors="replace")


@pytest.fixture
def owners(tmp_path: Path) -> Path:
    """A harness folder whose later commit holds the answer; the folder stands at the earlier one."""
    folder = tmp_path / "owners"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    for path, text in candidate(DIG).files.items():
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_text(text)
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "base")
    (folder / "prompts/system.md").write_text(GOLD)
    git(folder, "commit", "-qam", "later")
    git(folder, "checkout", "-q", "HEAD~1")
    git(folder, "gc", "-q")
    return folder


DIG = """
import os, subprocess, zlib
def solve(task, h):
    found = [top for top, folders, files in os.walk("/harness") if ".git" in folders + files]
    clean = {"PATH": os.environ["PATH"], "HOME": "/tmp", "GIT_CONFIG_COUNT": "1",
             "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*"}
    for place in ("/harness", "/harness/..", "/", "/work"):
        for words in (["log", "--all", "-p"], ["cat-file", "--batch-all-objects", "--batch"]):
            try:
                done = subprocess.run(["git", "-C", place, *words], env=clean,
                                      capture_output=True, text=True, timeout=10,
                                      errors="replace")
                found.append(done.stdout)
            except (OSError, subprocess.SubprocessError) as error:
                found.append(str(error))
    return "|".join(found)
"""


def test_case_21_no_history_reaches_the_candidate(owners: Path):
    with trial_ground(Instant()) as ground:
        (trial,) = ground.run(job(load_harness(owners)))
    assert trial.outcome == "answered"
    assert GOLD not in str(trial.answer)
    assert "/harness|" not in str(trial.answer)


@pytest.mark.parametrize("way", ["worktree", "shallow clone", "copy"])
def test_case_21_a_judge_that_hands_out_a_checkout_hands_out_the_fix(
    owners: Path, tmp_path: Path, way: str
):
    place = tmp_path / "handed-out"
    if way == "worktree":
        git(owners, "worktree", "add", "-q", str(place), "HEAD")
    elif way == "shallow clone":
        git(tmp_path, "clone", "-q", "--depth", "1", str(owners), str(place))
    else:
        subprocess.run(["cp", "-r", str(owners), str(place)], check=True)
    assert GOLD in git(place, "cat-file", "--batch-all-objects", "--batch")


def test_case_21_what_is_kept_of_it_is_one_commit_without_parents(owners: Path, tmp_path: Path):
    run = tmp_path / "run"
    run.mkdir()
    GitTrees(run).put(load_harness(owners), message="the harness as given")
    kept = git(run / "trees.git", "log", "--all", "--format=%p|%s")
    assert kept == "|the harness as given\n"


# --- git that runs what it finds -----------------------------------------------------------------


def planted(folder: Path, sentinel: Path) -> None:
    """Everything git would run of itself in this tree."""
    git(folder, "init", "-q")
    run = f"sh -c 'echo run >> {sentinel}; cat'"
    for key in ("core.fsmonitor", "diff.external", "filter.f.clean", "filter.f.smudge"):
        git(folder, "config", key, run)
    git(folder, "config", "diff.t.textconv", run)
    git(folder, "config", "core.hooksPath", str(folder / "hooks"))
    (folder / "hooks").mkdir()
    for name in ("post-commit", "pre-commit", "post-checkout", "reference-transaction"):
        (folder / "hooks" / name).write_text(f"#!/bin/sh\necho run >> {sentinel}\n")
        (folder / "hooks" / name).chmod(0o755)
    (folder / ".gitattributes").write_text("* filter=f diff=t\n")
    (folder / ".gitmodules").write_text(
        '[submodule "s"]\n\tpath = s\n\turl = ext::sh -c touch% x\n'
    )


def test_case_22_nothing_that_is_planted_in_a_tree_is_run(tmp_path: Path):
    folder, sentinel, run = tmp_path / "evil", tmp_path / "ran", tmp_path / "run"
    for path, text in candidate("def solve(task, h):\n    return 1\n").files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    run.mkdir()
    planted(folder, sentinel)
    trees, harness = GitTrees(run), load_harness(folder)
    trees.put(harness, message="$(touch x) `touch x`")
    staged = Path(trees.stage(harness.harness_id))
    assert trees.files(harness.harness_id) == harness.files
    assert not sentinel.exists()
    assert [path for path in staged.rglob("*") if path.name.startswith(".git")] == []


def test_case_22_git_run_in_the_tree_runs_them(tmp_path: Path):
    folder, sentinel = tmp_path / "evil", tmp_path / "ran"
    folder.mkdir()
    planted(folder, sentinel)
    git(folder, "status")
    assert sentinel.exists()


@pytest.mark.parametrize(
    "path", [".git/config", ".git/hooks/post-commit", "a/.GIT/config", "../.git/config", "a\\b"]
)
def test_case_22_no_file_of_a_harness_lies_where_git_looks(tmp_path: Path, path: str):
    base = candidate("def solve(task, h):\n    return 1\n")
    evil = base.model_copy(update={"files": {**base.files, path: "x"}})
    with pytest.raises(IntegrityError, match="unsafe file name"):
        GitTrees(tmp_path).put(evil, message="x")


def test_case_22_a_repository_whose_configuration_was_changed_is_not_used(tmp_path: Path):
    sentinel, trees = tmp_path / "ran", GitTrees(tmp_path)
    base = candidate("def solve(task, h):\n    return 1\n")
    trees.put(base, message="x")
    config = tmp_path / "trees.git/config"
    config.write_text(config.read_text() + f"\tfsmonitor = touch {sentinel}\n")
    with pytest.raises(IntegrityError, match="not as HarnessPro writes it"):
        trees.files(base.harness_id)
    assert not sentinel.exists()


# --- what a file makes of itself when it is read -------------------------------------------------


def bomb(depth: int = 12) -> str:
    """A billion of something in a few hundred bytes."""
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, depth)]
    return "\n".join(lines) + "\n"


def tags(sentinel: Path) -> dict[str, str]:
    return {
        "a call": f"!!python/object/apply:os.system ['touch {sentinel}']\n",
        "a name": "!!python/name:os.system\n",
        "a module": "a: !!python/module:os\n",
        "a new object": f"!!python/object/new:os.system [touch {sentinel}]\n",
        "an anchor bomb": bomb(),
        "a merge": "a: &a {x: 1}\nb: {<<: *a}\n",
        "a megabyte": "a: " + "x" * 1_000_001,
        "a depth": "[" * 50_000,
    }


@pytest.mark.parametrize("name", tags(Path("x")))
def test_case_41_yaml_that_is_more_than_data(tmp_path: Path, name: str):
    sentinel, started = tmp_path / "ran", time.monotonic()
    text = tags(sentinel)[name]
    with pytest.raises(ConfigError, match=r"evil\.yaml: "):
        parse_yaml(text, where="evil.yaml")
    assert not sentinel.exists()
    assert time.monotonic() - started < 10


@pytest.mark.parametrize("name", tags(Path("x")))
def test_case_41_a_harness_or_a_patch_with_it_is_refused(tmp_path: Path, name: str):
    sentinel = tmp_path / "ran"
    base = candidate("def solve(task, h):\n    return 1\n", budgets_dot_yaml="samples: 3\n")
    manifest = base.files["harness.yaml"].replace(
        "  flow:", "  budgets: {path: budgets.yaml, kind: budget}\n  flow:"
    )
    files = {**base.files, "harness.yaml": manifest}
    for path, text in files.items():
        (tmp_path / "h" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "h" / path).write_text(text)
    parent = load_harness(tmp_path / "h")
    edit = ReplaceFile(path="budgets.yaml", text=tags(sentinel)[name])
    patch = Patch(
        parent_id=parent.harness_id,
        edits=(edit,),
        direction="cost",
        proposer="skeleton:x",
        summary="",
    )
    with pytest.raises(ConfigError):
        apply_patch(parent, patch)
    (tmp_path / "h/budgets.yaml").write_text(tags(sentinel)[name])
    with pytest.raises(ConfigError):
        load_harness(tmp_path / "h")
    assert not sentinel.exists()


def test_case_41_a_reader_that_makes_objects_is_made_to_run_a_command(tmp_path: Path):
    sentinel = tmp_path / "ran"
    yaml.load(tags(sentinel)["a call"], Loader=yaml.UnsafeLoader)
    assert sentinel.exists()


class Runs:
    """A pickle of it runs a command when it is read."""

    def __init__(self, sentinel: Path) -> None:
        self.sentinel = sentinel

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.system, (f"touch {self.sentinel}",)


@pytest.mark.parametrize("name", ["model.pkl", "model.joblib", "weights.npz", "answers.json"])
@pytest.mark.parametrize("protocol", [0, 4])
def test_case_41_a_pickle_in_a_harness_is_refused_or_only_text(
    tmp_path: Path, name: str, protocol: int
):
    sentinel, folder = tmp_path / "ran", tmp_path / "h"
    for path, text in candidate("def solve(task, h):\n    return 1\n").files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    (folder / name).write_bytes(pickle.dumps(Runs(sentinel), protocol=protocol))
    if protocol == 0:  # plain text: kept as such, and nobody reads it as anything else
        (tmp_path / "run").mkdir()
        GitTrees(tmp_path / "run").put(load_harness(folder), message="x")
    else:
        with pytest.raises(HarnessProError, match="not UTF-8 text"):
            load_harness(folder)
    assert not sentinel.exists()
    pickle.loads((folder / name).read_bytes())
    assert sentinel.exists()
