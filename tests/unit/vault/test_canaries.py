import base64
import codecs
import contextlib
import gzip
import os
import sqlite3
import zlib

import pytest

from harnesspro.vault.canaries import CanaryScanner

CANARY = "0a1b2c3d4e5f60718293a4b5c6d7e8f9"
OTHER = "ffffffff00000000eeeeeeee11111111"
ZERO_WIDTH = "\u200b".join(CANARY)

DISGUISES = {
    "plain": CANARY,
    "upper case": CANARY.upper(),
    "reversed": CANARY[::-1],
    "rot13": codecs.encode(CANARY, "rot13"),
    "hex": CANARY.encode().hex(),
    "base64": base64.b64encode(CANARY.encode()).decode(),
    "base64 after one byte": base64.b64encode(b"x" + CANARY.encode() + b"yz").decode(),
    "base64 after two bytes": base64.b64encode(b"xy" + CANARY.encode() + b"z").decode(),
    "url-safe base64": base64.urlsafe_b64encode(CANARY.encode()).decode(),
    "zero-width characters": ZERO_WIDTH,
    "zero-width characters escaped as JSON": ZERO_WIDTH.replace("\u200b", "\\u200b"),
    "soft hyphens in reverse": "\u00ad".join(CANARY[::-1]),
    "inside a longer run of hex digits": f"abcdef0123{CANARY}4567",
}


@pytest.fixture
def scanner() -> CanaryScanner:
    return CanaryScanner([CANARY, OTHER])


@pytest.mark.parametrize("disguise", DISGUISES.values(), ids=DISGUISES)
def test_a_canary_is_found_in_each_disguise(scanner, disguise):
    assert scanner.found_in(f'{{"reply":"so {disguise} it is"}}'.encode()) == {CANARY}


def test_other_hex_and_base64_are_no_canaries(scanner):
    text = (CANARY[1:] + "0 ") * 50 + OTHER[:-1] + " " + base64.b64encode(os.urandom(999)).decode()
    assert scanner.found_in(text.encode()) == frozenset()


def test_two_canaries_are_two(scanner):
    assert scanner.found_in(f"{CANARY}{OTHER}".encode()) == {CANARY, OTHER}


@pytest.mark.parametrize("pack", [zlib.compress, gzip.compress], ids=["git object", "gzip"])
def test_compressed_files_are_looked_into(scanner, tmp_path, pack):
    (tmp_path / "object").write_bytes(pack(f"blob {ZERO_WIDTH}".encode()))
    assert scanner.found_below(tmp_path) == {"object": {CANARY}}


def test_a_canary_across_two_reads_is_found(scanner, tmp_path, monkeypatch):
    monkeypatch.setattr("harnesspro.vault.canaries._CHUNK_BYTES", 5000)
    (tmp_path / "long").write_text("-" * 4990 + CANARY + "-" * 9000)
    assert scanner.found_below(tmp_path) == {"long": {CANARY}}


def test_a_canary_in_a_ledger_is_found(scanner, tmp_path):
    with sqlite3.connect(tmp_path / "ledger.db") as ledger:
        ledger.execute("CREATE TABLE calls (request TEXT)")
        ledger.execute("INSERT INTO calls VALUES (?)", [f"my guess is {CANARY}"])
    ledger.close()
    assert scanner.found_below(tmp_path) == {"ledger.db": {CANARY}}


def test_links_and_special_files_are_not_followed(scanner, tmp_path):
    outside = tmp_path / "outside"
    outside.write_text(CANARY)
    run = tmp_path / "run"
    (run / "deep").mkdir(parents=True)
    (run / "link").symlink_to(outside)
    os.mkfifo(run / "pipe")
    (run / "deep" / "file").write_text(OTHER)
    assert scanner.found_below(run) == {"deep/file": {OTHER}}


def test_a_canary_across_the_pages_of_a_database_is_found_while_its_writer_is_at_work(
    scanner, tmp_path
):
    path = tmp_path / "ledger.db"
    with contextlib.closing(sqlite3.connect(path)) as writer:
        writer.execute("PRAGMA journal_mode=WAL")
        writer.execute("CREATE TABLE calls (reply TEXT)")
        for n_before in range(4060, 4100):
            writer.execute("DELETE FROM calls")
            writer.execute("INSERT INTO calls VALUES (?)", ("x" * n_before + CANARY + "x" * 9000,))
            writer.commit()
            assert scanner.found_in_file(path) == {CANARY}, n_before


def test_a_database_that_cannot_be_read_is_not_passed_over(scanner, tmp_path):
    path = tmp_path / "ledger.db"
    path.write_bytes(b"SQLite format 3\0" + bytes(5000))
    with pytest.raises(OSError, match=r"not a database|malformed|ledger"):
        scanner.found_in_file(path)
