"""What is given up, by the numbers; that it holds is for the red team."""

import struct
import subprocess
import sys

import pytest

from harnesspro.sandbox import confine
from harnesspro.sandbox.start import base_python, confined


def test_paths_and_command_are_told_apart():
    words = ["--read", "/a", "--write", "/b", "--read", "/c", "--", "cmd", "--read", "x"]
    assert confine.parse(words) == (["/a", "/c"], ["/b"], ["cmd", "--read", "x"])


@pytest.mark.parametrize("words", [[], ["--"], ["--read", "/a"], ["/a", "--", "x"]])
def test_a_line_without_a_command_or_with_a_stray_word_is_no_use(words: list[str]):
    with pytest.raises(ValueError, match=r"command after|neither"):
        confine.parse(words)


@pytest.mark.parametrize(
    ("abi", "fields"),
    [
        (1, [0x1FFF]),
        (2, [0x3FFF]),
        (3, [0x7FFF]),
        (4, [0x7FFF, 3]),
        (5, [0xFFFF, 3]),
        (6, [0xFFFF, 3, 3]),
        (9, [0xFFFF, 3, 3]),
    ],
)
def test_each_kernel_is_asked_for_all_it_knows(abi: int, fields: list[int]):
    assert confine.ruleset(abi) == struct.pack(f"={len(fields)}Q", *fields)


def run(*words: str) -> subprocess.CompletedProcess[bytes]:
    line = [base_python(), "-I", "-S", confine.__file__, *words]
    return subprocess.run(line, capture_output=True, check=False)


def test_a_wrong_line_is_a_usage_error():
    done = run("--read")
    assert (done.returncode, done.stderr) == (2, b"confine: no command after --\n")


def test_a_missing_command_is_exit_127():
    done = subprocess.run(
        confined(["no-such"], read=[], write=[]), capture_output=True, check=False
    )
    assert done.returncode == 127
    assert done.stderr.startswith(b"confine: no-such: ")


def test_a_path_that_does_not_exist_grants_nothing_and_harms_nothing():
    line = confined([sys.executable, "-c", "print(1)"], read=["/none"], write=["/none/x"])
    assert subprocess.run(line, capture_output=True, check=True).stdout == b"1\n"


def test_where_the_kernel_has_no_landlock_nothing_is_started():
    source = (
        "import sys; sys.path.append(sys.argv[1]); import confine\n"
        "confine.landlock_abi = lambda: 0\n"
        "sys.exit(confine.main(['--', 'echo', 'started']))"
    )
    folder = confine.__file__.rpartition("/")[0]
    line = [base_python(), "-I", "-S", "-B", "-c", source, folder]
    done = subprocess.run(line, capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (confine.UNAVAILABLE, b"")
    assert b"no Landlock" in done.stderr
