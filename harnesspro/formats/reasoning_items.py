"""The program that makes Reasoning Gym's items, run in a sandbox beside the package's own files.

Standard library only. The folder holds the few modules that are wanted: the package's `__init__`
files import all its hundred generators and what they need, so packages without them stand in.
"""

from __future__ import annotations

import importlib
import json
import sys
import types

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

MOST_DRAWN = 1_000
"""Items looked at for `n` distinct ones."""


def bare_package(name: str, root: str) -> types.ModuleType:
    """An empty package, its modules found below `root`."""
    module = types.ModuleType(name)
    module.__path__ = [f"{root}/{name.replace('.', '/')}"]
    sys.modules[name] = module
    return module


def stand_in(modules: list[str], root: str) -> None:
    """The package, its parts that are used, and what `coaching` gives to every generator."""
    for name in sorted({"reasoning_gym", *(module.rpartition(".")[0] for module in modules)}):
        bare_package(name, root)
    coaching = bare_package("reasoning_gym.coaching", root)
    for part in ("attributes", "base_curriculum"):
        found = importlib.import_module(f"reasoning_gym.coaching.{part}")
        public = {name: value for name, value in vars(found).items() if name[0] != "_"}
        vars(coaching).update(public)


def items(one: Mapping[str, Any], n: int) -> Iterator[dict[str, Any]]:
    """The first `n` items of a seeded set that ask different things."""
    dataset = made(one, size=MOST_DRAWN)
    asked: set[str] = set()
    for index in range(MOST_DRAWN):
        if len(asked) == n:
            return
        item = dataset[index]
        if item["question"] not in asked:
            asked.add(item["question"])
            told = {"question": item["question"], "answer": item["answer"]}
            yield {"family": one["family"], "index": index, **told}


def made(one: Mapping[str, Any], *, size: int) -> Any:
    """The generator of a set."""
    importlib.import_module(one["module"])
    known = importlib.import_module("reasoning_gym.factory").DATASETS
    dataset, config = known[one["dataset"]]
    return dataset(config(seed=one["seed"], size=size, **one["settings"]))


def main(root: str, work: str) -> int:
    """Read the plan, write the items."""
    with open(f"{work}/task.json", encoding="utf-8") as file:
        plan = json.load(file)
    sys.path.insert(0, root)
    stand_in([one["module"] for one in plan["sets"]], root)
    found = [item for one in plan["sets"] for item in items(one, plan["n"])]
    with open(f"{work}/answer.json", "w", encoding="utf-8") as file:
        json.dump(found, file)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))
