"""What speaks against a patched harness before a cent is spent on it. Nothing here runs code.

Filters are cheap and err on the side of refusing; what a candidate can do is bounded elsewhere.
"""

from __future__ import annotations

import ast
import difflib
import re
import sys
from collections.abc import Iterable, Iterator, Sequence

from pydantic import JsonValue

from harnesspro.core.reach import addresses, reached
from harnesspro.core.records import Harness, Patch, Task

MANIFEST_NAME = "harness.yaml"
MAX_CHANGED_CHARS = 20_000
"""Characters of the lines added and removed together."""
NGRAM = 5
"""Words in a row that count as quoting."""
_MIN_NAME = 4
"""Shorter ids and names stand in ordinary text by chance."""
_SLOT = re.compile(r"\{\{(\w+)\}\}")
_NAME_WITH_DOT = re.compile(r"\b\w[\w-]{2,80}\.[A-Za-z]\w+\b")
_TELLING = re.compile(r"\b(?=\w*[\d_])\w{4,80}\b|\b\d{1,4}[-/.:]\d{1,2}[-/.:]\d{1,4}\b")
"""Numbers of four digits and more, dates, codes, names with an underscore."""
_LONG_TELLING = 8
"""One of so many characters does not stand in a text by chance; shorter ones count by twos."""
_DIGEST = re.compile(r"\b[0-9a-fA-F]{16,128}\b")


def objections(
    parent: Harness,
    made: Harness,
    patch: Patch,
    *,
    search_tasks: Sequence[Task],
    unseen_tasks: Sequence[Task],
) -> tuple[str, ...]:
    """Every reason to refuse `made`, in plain words; empty = admitted.

    The reasons name no task and quote none of its text, so they may go back to whoever wrote the
    patch.
    """
    if made.files == parent.files:
        return ("nothing changed",)
    growth = sum(map(len, made.files.values())) - sum(map(len, parent.files.values()))
    if growth > MAX_CHANGED_CHARS:  # before anything that takes time on long text
        return (f"the files grew by {growth} characters; at most {MAX_CHANGED_CHARS} at once",)
    return (
        *_about_bounds(parent, made, patch),
        *_about_size(parent, made),
        *_about_code(parent, made),
        *_about_slots(parent, made),
        *_about_reach(parent, made),
        *_about_literals(parent, made, search_tasks=search_tasks, unseen_tasks=unseen_tasks),
    )


# --- what may change ---------------------------------------------------------------------------


def _about_bounds(parent: Harness, made: Harness, patch: Patch) -> Iterator[str]:
    if patch.parent_id != parent.harness_id:
        yield "the patch was made for another harness"
    if made.files.get(MANIFEST_NAME) != parent.files.get(MANIFEST_NAME):
        yield "the manifest changed: a patch may edit parts only"
    elif made.manifest != parent.manifest:
        yield "the manifest read from the files differs: the answer's form, parts or limits moved"
    editable = {part.path for part in parent.manifest.parts.values()} | {MANIFEST_NAME}
    for path in changed_paths(parent, made):
        if path not in editable:
            yield f"{path} changed and is no part of the harness"
    for name in sorted(parent.knob_values.keys() - patch.knobs.keys()):
        if made.knob_values.get(name) != parent.knob_values[name]:
            yield f"knob {name} changed without being named in the patch"


def _about_size(parent: Harness, made: Harness) -> Iterator[str]:
    n_changed = sum(len(line) for line in (*_lines(parent, made), *_lines(made, parent)))
    if n_changed > MAX_CHANGED_CHARS:
        yield f"{n_changed} characters changed; at most {MAX_CHANGED_CHARS} at once"


def changed_paths(parent: Harness, made: Harness) -> tuple[str, ...]:
    """Files that differ, sorted; those only one of the two has included."""
    paths = parent.files.keys() | made.files.keys()
    return tuple(sorted(p for p in paths if parent.files.get(p) != made.files.get(p)))


def added_text(parent: Harness, made: Harness) -> str:
    """The lines `made` has and `parent` has not, in file order."""
    return "\n".join(_lines(parent, made))


def _lines(old: Harness, new: Harness) -> Iterator[str]:
    """Lines to add to turn `old` into `new`."""
    for path in changed_paths(old, new):
        before = old.files.get(path, "").splitlines()
        after = new.files.get(path, "").splitlines()
        matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
        for tag, _, _, start, end in matcher.get_opcodes():
            if tag in ("insert", "replace"):
                yield from after[start:end]


# --- code and templates ------------------------------------------------------------------------


def _about_code(parent: Harness, made: Harness) -> Iterator[str]:
    for path in changed_paths(parent, made):
        if path.endswith(".py") and path in made.files:
            yield from _about_module(made, path)


def _about_module(made: Harness, path: str) -> Iterator[str]:
    try:
        tree = ast.parse(made.files[path])
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = f" in line {error.lineno}" if isinstance(error, SyntaxError) else ""
        yield f"{path} does not parse{line}"
        return
    file, _, function = (made.manifest.entry.python or "").partition(":")
    defined = {
        node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    if path == file and function not in defined:
        yield f"{path} does not define the entry function {function}"
    modules = (name.removesuffix(".py") for name in made.files if name.endswith(".py"))
    own = {name.partition("/")[0] for name in modules}
    for name in sorted(set(_imports(tree))):
        if not _may_import(name, own):
            yield f"{path} imports {name}: only the standard library, harnesspro.sdk and own files"


def _imports(tree: ast.Module) -> Iterator[str]:
    """Dotted names of all modules imported anywhere; a relative import as a lone dot."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level:
            yield "."
        elif isinstance(node, ast.ImportFrom) and node.module == "harnesspro":
            yield from (f"harnesspro.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield str(node.module)


def _may_import(name: str, own: set[str]) -> bool:
    top = name.partition(".")[0]
    return name == "harnesspro.sdk" or top in sys.stdlib_module_names or top in own - {"harnesspro"}


def _about_slots(parent: Harness, made: Harness) -> Iterator[str]:
    code_changed = any(path.endswith(".py") for path in changed_paths(parent, made))
    for name, part in parent.manifest.parts.items():
        if part.kind not in ("prompt", "skill") or part.path not in made.files:
            continue
        before = set(_SLOT.findall(parent.files[part.path]))
        after = set(_SLOT.findall(made.files[part.path]))
        for slot in sorted(before - after):
            yield f"part {name} lost its slot {{{{{slot}}}}}"
        for slot in sorted(after - before if not code_changed else ()):
            yield f"part {name} has a new slot {{{{{slot}}}}} that no code fills"


def _about_reach(parent: Harness, made: Harness) -> Iterator[str]:
    """A round opens no way out that the owner's harness does not have."""
    for what in sorted(reached(made.files) - reached(parent.files)):
        yield f"its code newly reaches for {what}"
    known = addresses("\n".join(parent.files.values()))
    if addresses(added_text(parent, made)) - known:
        yield "the added text names an address that the harness did not have"


# --- literals ----------------------------------------------------------------------------------


def _about_literals(
    parent: Harness, made: Harness, *, search_tasks: Sequence[Task], unseen_tasks: Sequence[Task]
) -> Iterator[str]:
    known = "\n".join(parent.files.values())
    added = added_text(parent, made)
    if any(_names(task.task_id, added) for task in (*search_tasks, *unseen_tasks)):
        yield "the added text names a task id"
    unseen = _file_names(unseen_tasks)
    for name in sorted(_file_names(search_tasks) - unseen):
        if _names(name, added) and name not in known:
            yield "the added text names a file or function that only search tasks have"
            break
    yield from _about_telling(added, known, search_tasks=search_tasks, unseen_tasks=unseen_tasks)
    grams = ngrams(added) - ngrams(known)
    n_seen = len(grams & _task_ngrams(search_tasks))
    n_unseen = len(grams & _task_ngrams(unseen_tasks))
    if n_seen > n_unseen:
        yield (
            f"the added text shares {n_seen} runs of {NGRAM} words with search tasks, "
            f"{n_unseen} with unseen ones: it quotes what it was shown"
        )


def _about_telling(
    added: str, known: str, *, search_tasks: Sequence[Task], unseen_tasks: Sequence[Task]
) -> Iterator[str]:
    """Numbers, dates, codes and names that only search tasks hold; tables keyed by digests."""
    new = telling(added) - telling(known)
    of_search = telling("\n".join(map(task_text, search_tasks)))
    shared = new & (of_search - telling("\n".join(map(task_text, unseen_tasks))))
    if len(shared) > 1 or any(len(word) >= _LONG_TELLING for word in shared):
        yield (
            "the added text holds a number, date, code or name that only search tasks have: it is "
            "fitted to them"
        )
    if len(set(_DIGEST.findall(added)) - set(_DIGEST.findall(known))) > 1:
        yield "the added text holds digests: answers may be looked up by them"


def telling(text: str) -> frozenset[str]:
    """What in a text points to one case: numbers, dates, codes, names with an underscore."""
    return frozenset(found.lower() for found in _TELLING.findall(text))


def _names(name: str, text: str) -> bool:
    whole = rf"(?<!\w){re.escape(name)}(?!\w)"
    return len(name) >= _MIN_NAME and re.search(whole, text) is not None


def _file_names(tasks: Iterable[Task]) -> set[str]:
    """Names of the tasks' files, and dotted names (a file, a function) in their inputs."""
    names: set[str] = set()
    for task in tasks:
        for path in task.files:
            names |= {path, path.rpartition("/")[2]}
        names.update(_NAME_WITH_DOT.findall(task_text(task)))
    return names


def _task_ngrams(tasks: Iterable[Task]) -> set[tuple[str, ...]]:
    return set[tuple[str, ...]]().union(*(ngrams(task_text(task)) for task in tasks))


def ngrams(text: str) -> set[tuple[str, ...]]:
    """Runs of five words, case and punctuation aside."""
    words = re.findall(r"\w+", text.lower())
    return {tuple(words[i : i + NGRAM]) for i in range(len(words) - NGRAM + 1)}


def task_text(task: Task) -> str:
    """All text of a task that a harness is given: every string in its input, and its files."""
    return "\n".join((*_strings(task.input), *task.files.values()))


def _strings(value: JsonValue) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item)
    elif isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from _strings(item)
