"""The harness folder, format harnesspro/1: read, validate, edit, write, and what the sdk gets.

Knob values live in YAML parts and are read from there; a patch changes them only as knobs.
Round trips keep comments (ruamel).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import JsonValue, ValidationError

from harnesspro.core.errors import ConfigError, ManifestError, PatchError
from harnesspro.core.records import (
    Edit,
    Harness,
    KnobValue,
    Manifest,
    Part,
    Patch,
    ReplaceFile,
    ReplaceText,
    SetKey,
    Task,
)
from harnesspro.formats.yaml_text import MAX_YAML_BYTES, parse_yaml, set_yaml_key

MANIFEST_NAME = "harness.yaml"
MAX_FILE_BYTES = MAX_YAML_BYTES
MAX_FILES = 500
_SKIPPED_NAMES = {
    "__pycache__",
    ".git",
    ".venv",
    "node_modules",
    "tasks.jsonl",
    "provenance.json",  # written beside the manifest by an export; no part of the harness
}
_PAID_DEFAULTS = {"prompt": "always", "skill": "on_demand", "tool": "on_demand"}
_YAML = (".yaml", ".yml")
_KNOB_KINDS = {"int": "int_range", "float": "float_range", "choice": "choices"}
_SPELT = {field: key for key, field in _KNOB_KINDS.items()} | {"answer_schema": "schema"}


def load_harness(path: str | Path) -> Harness:
    """The harness in a folder.

    Raises:
        ManifestError: naming file, key, what was found and what is expected.
    """
    folder = Path(path)
    return harness_from_files(read_tree(folder), where=str(folder))


def read_tree(folder: Path) -> dict[str, str]:
    """Every text file below `folder` (no links, no caches), relative POSIX path -> text.

    Raises:
        ManifestError: too many, too large, or not UTF-8.
    """
    files: dict[str, str] = {}
    for path in sorted(folder.rglob("*")):
        relative = path.relative_to(folder)
        hidden = any(part.startswith(".") or part in _SKIPPED_NAMES for part in relative.parts)
        if hidden or (path.is_dir() and not path.is_symlink()):
            continue
        if not path.name.isprintable() or "\\" in path.name:
            raise ManifestError(
                ascii(str(path)), "an unsafe file name", expected="printable, without backslashes"
            )
        if path.is_symlink() or not path.is_file():
            raise ManifestError(str(path), "a link or special file", expected="regular files")
        if path.stat().st_size > MAX_FILE_BYTES:
            raise ManifestError(
                str(path), f"{path.stat().st_size} bytes", expected=f"at most {MAX_FILE_BYTES}"
            )
        try:
            files[relative.as_posix()] = path.read_text(encoding="utf-8")
        except UnicodeDecodeError as error:
            raise ManifestError(str(path), "not UTF-8 text", fix="keep binaries out") from error
    if len(files) > MAX_FILES:
        raise ManifestError(str(folder), f"{len(files)} files", expected=f"at most {MAX_FILES}")
    return files


def harness_from_files(
    files: Mapping[str, str], *, where: str, parent_id: str | None = None
) -> Harness:
    """The harness that these files are.

    Raises:
        ManifestError: naming file, key, what was found and what is expected.
    """
    if MANIFEST_NAME not in files:
        raise ManifestError(
            where, f"no {MANIFEST_NAME}", expected="a harness folder", fix="see harnesses/README.md"
        )
    manifest = _manifest(files[MANIFEST_NAME], where=f"{where}/{MANIFEST_NAME}")
    _check_parts(manifest, files, where=where)
    for part in manifest.parts.values():
        _part_value(part, files, where=where)
    values = {
        name: _knob_value(manifest, files, name, where=where) for name in sorted(manifest.knobs)
    }
    return Harness(manifest=manifest, files=dict(files), knob_values=values, parent_id=parent_id)


def _manifest(text: str, *, where: str) -> Manifest:
    raw = parse_yaml(text, where=where)
    if not isinstance(raw, dict):
        raise ManifestError(where, f"a {type(raw).__name__}", expected="a mapping of keys")
    found = raw.get("format")
    if found != "harnesspro/1":
        raise ManifestError(
            f"{where}: format", repr(found), expected="'harnesspro/1'", fix="set the key"
        )
    try:
        return Manifest.model_validate(_named(dict(raw), where=where))
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(_as_written(part) for part in first["loc"] if "[" not in str(part))
        found_text = "nothing" if first["type"] == "missing" else repr(first.get("input"))
        raise ManifestError(
            f"{where}: {key}", found_text[:200], expected=first["msg"], fix="mend the key"
        ) from error


def _as_written(part: int | str) -> str:
    """A record's field as the file spells it."""
    return _SPELT.get(str(part), str(part))


def _named(raw: dict[str, Any], *, where: str) -> dict[str, Any]:
    """The file's spelling turned into the records' spelling."""
    for section in ("roles", "parts", "knobs"):
        entries = raw.get(section) or {}
        if not isinstance(entries, dict) or not all(
            isinstance(value, dict) for value in entries.values()
        ):
            raise ManifestError(f"{where}: {section}", "not a mapping of mappings")
        raw[section] = {name: {**value, "name": name} for name, value in entries.items()}
    for part in raw["parts"].values():
        part.setdefault("paid", _PAID_DEFAULTS.get(part.get("kind"), "never"))
    for name, knob in raw["knobs"].items():
        kinds = [kind for kind in _KNOB_KINDS if kind in knob]
        if len(kinds) != 1:
            raise ManifestError(
                f"{where}: knobs.{name}",
                f"{len(kinds)} of int, float, choice",
                expected="exactly one, e.g. int: [1, 5]",
            )
        knob[_KNOB_KINDS[kinds[0]]] = knob.pop(kinds[0])
    answer = raw.get("answer")
    if isinstance(answer, dict) and "schema" in answer:
        answer = dict(answer)
        answer["answer_schema"] = answer.pop("schema")
        raw["answer"] = answer
    return raw


def _check_parts(manifest: Manifest, files: Mapping[str, str], *, where: str) -> None:
    place = f"{where}/{MANIFEST_NAME}"
    if not manifest.parts:
        raise ManifestError(f"{place}: parts", "nothing", expected="at least one part")
    if not manifest.roles:
        raise ManifestError(f"{place}: roles", "nothing", expected="at least one role")
    for part in manifest.parts.values():
        if part.path not in files:
            raise ManifestError(
                f"{place}: parts.{part.name}.path",
                repr(part.path),
                expected="a file of this folder",
            )
        if part.path == MANIFEST_NAME:
            raise ManifestError(f"{place}: parts.{part.name}.path", "the manifest itself")
    provided = {feature for part in manifest.parts.values() for feature in part.provides}
    for part in manifest.parts.values():
        unmet = sorted(set(part.needs) - provided)
        if unmet:
            raise ManifestError(
                f"{place}: parts.{part.name}.needs",
                ", ".join(unmet),
                expected=f"something a part provides ({', '.join(sorted(provided)) or 'none'})",
            )
    if manifest.entry.python is not None:
        file, _, function = manifest.entry.python.partition(":")
        if file not in files or not function.isidentifier():
            raise ManifestError(
                f"{place}: entry.python",
                repr(manifest.entry.python),
                expected="file.py:function of this folder",
            )


def _part_value(part: Part, files: Mapping[str, str], *, where: str) -> Any:
    """What a harness reads of a YAML part beside its text: plain JSON; None of another part."""
    if part.kind == "code" or not part.path.endswith(_YAML):
        return None
    place = f"{where}/{part.path}"
    value = parse_yaml(files[part.path], where=place)
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ManifestError(
            place, f"a value that is no JSON ({error})", fix="quote it, so that it is text"
        ) from error
    return value


def _knob_value(
    manifest: Manifest, files: Mapping[str, str], name: str, *, where: str
) -> KnobValue:
    knob = manifest.knobs[name]
    place = f"{where}/{MANIFEST_NAME}: knobs.{name}"
    if knob.part not in manifest.parts:
        raise ManifestError(
            f"{place}.part", repr(knob.part), expected=f"one of {', '.join(manifest.parts)}"
        )
    path = manifest.parts[knob.part].path
    value = parse_yaml(files[path], where=f"{where}/{path}")
    for key in knob.key.split("."):
        value = value.get(key) if isinstance(value, dict) else None
    if value is None or not knob.admits(value):
        raise ManifestError(
            f"{where}/{path}: {knob.key}",
            repr(value),
            expected=f"a value in {knob_range(manifest, name)}",
        )
    return value  # type: ignore[no-any-return]


def knob_range(manifest: Manifest, name: str) -> str:
    """A knob's range as a person writes it."""
    knob = manifest.knobs[name]
    if knob.choices is not None:
        return "{" + ", ".join(map(str, knob.choices)) + "}"
    low, high = knob.int_range or knob.float_range or (0, 0)
    return f"[{low}, {high}]"


# --- change ------------------------------------------------------------------------------------


def apply_patch(harness: Harness, patch: Patch) -> Harness:
    """The harness the patch makes; the given one is untouched.

    Raises:
        PatchError: the patch is for another parent, touches what is no part, or does not fit.
        ManifestError: the result is no valid harness.
    """
    if patch.parent_id != harness.harness_id:
        raise PatchError(patch.proposer, f"made for {patch.parent_id}", expected=harness.harness_id)
    files = dict(harness.files)
    editable = {part.path: part for part in harness.manifest.parts.values()}
    for edit in patch.edits:
        if edit.path not in editable:
            raise PatchError(
                f"{patch.proposer}: {edit.path}",
                "not an editable part",
                expected=f"one of {', '.join(sorted(editable))}",
            )
        files[edit.path] = _edited(files[edit.path], edit)
    for name, value in patch.knobs.items():
        knob = harness.manifest.knobs.get(name)
        if knob is None or not knob.admits(value):
            raise PatchError(
                f"{patch.proposer}: knob {name}",
                repr(value),
                expected=knob_range(harness.manifest, name) if knob else "a knob of the manifest",
            )
        path = harness.manifest.parts[knob.part].path
        files[path] = set_yaml_key(files[path], knob.key, value)
    made = harness_from_files(files, where=patch.proposer, parent_id=harness.harness_id)
    untouched = {k: v for k, v in harness.knob_values.items() if k not in patch.knobs}
    moved = [name for name, value in untouched.items() if made.knob_values[name] != value]
    if moved:
        raise PatchError(
            patch.proposer, f"edits move knob {moved[0]}", expected="knobs changed as knobs"
        )
    return made


def _edited(text: str, edit: Edit) -> str:
    if isinstance(edit, ReplaceFile):
        return edit.text
    if isinstance(edit, ReplaceText):
        count = text.count(edit.old)
        if not edit.old or count != 1:
            raise PatchError(
                edit.path, f"{count} occurrences of the text to replace", expected="exactly one"
            )
        return text.replace(edit.old, edit.new)
    assert isinstance(edit, SetKey)
    if not edit.path.endswith(_YAML):
        raise PatchError(edit.path, "not YAML", expected="a key set in a YAML part")
    return set_yaml_key(text, edit.key, edit.value)


def save_harness(harness: Harness, path: str | Path) -> None:
    """Write the files into a new or empty folder.

    Raises:
        ConfigError: the folder is not empty or cannot be written.
    """
    folder = Path(path)
    if folder.exists() and any(folder.iterdir()):
        raise ConfigError(str(folder), "is not empty", fix="name a new folder")
    try:
        for relative, text in harness.files.items():
            target = folder / relative
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ConfigError(str(folder), f"cannot write: {error.strerror}") from error


# --- what the code inside sees -------------------------------------------------------------------


def public_task(task: Task) -> dict[str, JsonValue]:
    """What a harness is given of a task."""
    return {"task_id": task.task_id, "family": task.family, "input": task.input}


def sdk_payload(harness: Harness, task: Task) -> dict[str, Any]:
    """The sdk's payload but for the broker's address and token."""
    parts = {
        part.name: {
            "kind": part.kind,
            "text": harness.files[part.path],
            "value": _part_value(part, harness.files, where=harness.manifest.name),
        }
        for part in harness.manifest.parts.values()
        if part.kind != "code"
    }
    return {
        "entry": harness.manifest.entry.python,
        "task": public_task(task),
        "harness": {"parts": parts, "knobs": dict(harness.knob_values)},
    }
