import itertools
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harnesspro.core.answers import parse_number
from harnesspro.core.errors import IntegrityError
from harnesspro.formats import reasoning
from harnesspro.formats.reasoning import plain_number, plan, records, right_answer


def made(n: int = 1, **changes: Any) -> list[dict[str, Any]]:
    """Items as the program would write them; every answer a number."""
    return [
        {"family": one["family"], "index": i, "question": f" q{i}\n", "answer": "7.50", **changes}
        for one in plan(n=n)["sets"]
        for i in range(n)
    ]


def test_sixteen_families_have_three_levels_each_and_seeds_that_never_overlap():
    sets = plan()["sets"]
    assert len(sets) == 48
    assert len({one["family"] for one in sets}) == 48
    seeds = sorted(one["seed"] for one in sets)
    assert min(b - a for a, b in itertools.pairwise(seeds)) >= 1000
    assert len(sets) * plan()["n"] == 672


def test_the_plan_is_json():
    assert json.loads(json.dumps(plan())) == plan()


def test_every_generator_is_among_the_files_taken_out_of_the_wheel():
    files = reasoning.members()
    assert len(set(files)) == len(files)
    assert {one["module"].replace(".", "/") + ".py" for one in plan()["sets"]} < set(files)


def test_a_record_is_a_request_and_the_plain_spelling_of_its_answer():
    first = records(made(), n=1)[0]
    assert first == {
        "id": "basic_arithmetic/easy/0",
        "family": "basic_arithmetic/easy",
        "input": {"request": "q0"},
        "gold": "7.5",
    }


@pytest.mark.parametrize(
    "items",
    [
        made()[1:],
        made()[::-1],
        made(question=3),
        made(index="0"),
        [1] * 48,
        {"family": "gcd/easy"},
        None,
    ],
)
def test_anything_but_the_items_asked_for_is_refused(items):
    with pytest.raises(IntegrityError, match="not the items that were asked for"):
        records(items, n=1)


@pytest.mark.parametrize("answer", ["", "seven", "x" * 80, "1e999", "NaN"])
def test_a_number_that_is_none_is_refused(answer):
    with pytest.raises(IntegrityError, match="an answer"):
        right_answer("gcd/easy", answer)


def test_texts_keep_their_spelling():
    assert right_answer("base_conversion/hard", " 1e5 ") == "1e5"


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("007", "7"),
        ("-0.50", "-0.5"),
        ("1200", "1200"),
        ("-0", "0"),
        ("0.0", "0"),
        ("1E+3", "1000"),
        ("+4", "4"),
        ("four", ""),
        ("Infinity", ""),
    ],
)
def test_a_number_has_one_plain_spelling(text, plain):
    assert plain_number(text) == plain


@given(
    st.decimals(
        allow_nan=False, allow_infinity=False, places=6, min_value=-(10**9), max_value=10**9
    )
)
def test_the_plain_spelling_says_the_same_number_and_is_its_own_spelling(number):
    plain = plain_number(str(number))
    assert parse_number(plain) == pytest.approx(float(number))
    assert plain_number(plain) == plain


GENERATOR = """
from dataclasses import dataclass
from ..coaching import BaseCurriculum, ScalarAttributeDefinition
from ..factory import register_dataset

@dataclass
class Config:
    seed: int
    size: int
    top: int

class Doubling:
    def __init__(self, config):
        self.config = config
    def __getitem__(self, index):
        number = self.config.seed + min(index // 2, self.config.top)
        return {"question": f"twice {number}?", "answer": str(2 * number)}

register_dataset("doubling", Doubling, Config)
"""
FACTORY = """
DATASETS = {}
def register_dataset(name, dataset, config):
    DATASETS[name] = (dataset, config)
"""
PACKAGE = {
    "__init__.py": "raise ImportError('a hundred generators and what they need')",
    "arithmetic/__init__.py": "raise ImportError('all of arithmetic')",
    "arithmetic/doubling.py": GENERATOR,
    "factory.py": FACTORY,
    "coaching/attributes.py": "ScalarAttributeDefinition = object",
    "coaching/base_curriculum.py": "from .attributes import *\nBaseCurriculum = object",
}


def run_program(tmp_path: Path, *, top: int, n: int) -> Any:
    for name, text in PACKAGE.items():
        path = tmp_path / "reasoning_gym" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    one = {
        "family": "doubling/easy",
        "dataset": "doubling",
        "module": "reasoning_gym.arithmetic.doubling",
        "seed": 20,
        "settings": {"top": top},
    }
    (tmp_path / "task.json").write_text(json.dumps({"sets": [one], "n": n}))
    program = Path(reasoning.__file__).with_name("reasoning_items.py")
    command = [sys.executable, "-I", "-S", "-B", str(program), str(tmp_path), str(tmp_path)]
    subprocess.run(command, check=True, timeout=60)
    return json.loads((tmp_path / "answer.json").read_text())


def test_the_program_loads_the_wanted_generators_alone_and_leaves_out_repeats(tmp_path):
    assert run_program(tmp_path, top=9, n=2) == [
        {"family": "doubling/easy", "index": 0, "question": "twice 20?", "answer": "40"},
        {"family": "doubling/easy", "index": 2, "question": "twice 21?", "answer": "42"},
    ]


def test_a_generator_that_runs_dry_gives_what_it_has(tmp_path):
    assert len(run_program(tmp_path, top=2, n=14)) == 3
