"""The system call filter, run here by an interpreter of its few instructions."""

import errno
import itertools
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harnesspro.sandbox import seccomp
from harnesspro.sandbox.seccomp import ALLOW, FAIL, KILL

MACHINES = list(seccomp.ARCHES)
LISTED = {
    machine: {
        numbers[column] for table in (seccomp.DENIED, seccomp.UNKNOWN) for numbers in table.values()
    }
    | {seccomp.CLONE[column], seccomp.SOCKET[column], seccomp.SOCKETPAIR[column]}
    for column, machine in enumerate(MACHINES)
}


def decide(program: bytes, arch: int, number: int, *arguments: int) -> int:
    """What the kernel would do with one call."""
    words = [argument & (2**64 - 1) for argument in (*arguments, *[0] * 6)[:6]]
    data = struct.pack("=IIQ6Q", number, arch, 0, *words)
    lines = list(struct.iter_unpack("=HBBI", program))
    at = value = 0
    while True:
        code, yes, no, operand = lines[at]
        at += 1
        if code == seccomp.RETURN:
            return int(operand)
        if code == seccomp.LOAD:
            (value,) = struct.unpack_from("=I", data, operand)
            continue
        met = {
            seccomp.EQUAL: value == operand,
            seccomp.AT_LEAST: value >= operand,
            seccomp.ANY_BIT: bool(value & operand),
        }[code]
        at += yes if met else no


def ask(machine: str, number: int, argument: int = 0) -> int:
    return decide(seccomp.program(machine), seccomp.ARCHES[machine], number, argument)


@pytest.mark.parametrize("machine", MACHINES)
def test_every_listed_call_fails_with_its_error(machine: str):
    column = MACHINES.index(machine)
    for table, error in ((seccomp.DENIED, errno.EPERM), (seccomp.UNKNOWN, errno.ENOSYS)):
        for name, numbers in table.items():
            number = numbers[column]
            if number is not None:
                assert ask(machine, number) == FAIL | error, name


@given(machine=st.sampled_from(MACHINES), number=st.integers(0, 0x3FFFFFFF))
def test_every_other_call_is_allowed(machine: str, number: int):
    if number not in LISTED[machine]:
        assert ask(machine, number, 2**64 - 1) == ALLOW


@given(machine=st.sampled_from(MACHINES), number=st.integers(0, 2**32 - 1))
def test_the_calls_of_another_machine_kill(machine: str, number: int):
    assert decide(seccomp.program(machine), 0x40000003, number) == KILL


@given(number=st.integers(0x40000000, 2**32 - 1))
def test_the_same_calls_under_other_numbers_do_not_exist(number: int):
    assert ask("x86_64", number) == FAIL | errno.ENOSYS


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("family", range(50))
def test_only_unix_and_ip_sockets_exist(machine: str, family: int):
    column = MACHINES.index(machine)
    refused = FAIL | errno.EAFNOSUPPORT
    expected = ALLOW if family in (1, 2, 10) else refused
    assert ask(machine, seccomp.SOCKET[column], family) == expected
    pair = ALLOW if family == 1 else refused
    assert ask(machine, seccomp.SOCKETPAIR[column], family) == pair


@pytest.mark.parametrize("machine", MACHINES)
def test_clone_makes_threads_and_processes_but_no_namespaces(machine: str):
    clone = seccomp.CLONE[MACHINES.index(machine)]
    thread, process = 0x003D0F00, 17
    assert ask(machine, clone, thread) == ask(machine, clone, process) == ALLOW
    for bit in (17, 25, 26, 27, 28, 29, 30):
        assert ask(machine, clone, process | 1 << bit) == FAIL | errno.EPERM


def test_every_jump_lands_inside_and_the_kernel_would_take_the_length():
    for machine, shared in itertools.product(MACHINES, (False, True)):
        lines = seccomp.instructions(machine, shared=shared)
        assert len(lines) < 4096
        for at, (_, yes, no, _) in enumerate(lines):
            assert at + 1 + max(yes, no) <= len(lines)


def test_a_machine_without_a_filter_is_named():
    with pytest.raises(ValueError, match="no system call filter for riscv64"):
        seccomp.program("riscv64")


def ask_shared(machine: str, number: int, *arguments: int) -> int:
    """The same for a start without namespaces of its own."""
    program = seccomp.program(machine, shared=True)
    return decide(program, seccomp.ARCHES[machine], number, *arguments)


@pytest.mark.parametrize("machine", MACHINES)
def test_without_namespaces_more_is_denied_and_nothing_less(machine: str):
    column = MACHINES.index(machine)
    tables = (
        (seccomp.DENIED, errno.EPERM),
        (seccomp.UNKNOWN, errno.ENOSYS),
        (seccomp.SHARED, errno.EPERM),
        (seccomp.PRETENDED, 0),
    )
    for table, error in tables:
        for name, numbers in table.items():
            number = numbers[column]
            if number is not None:
                assert ask_shared(machine, number, 1, 1) == FAIL | error, name
    assert ask_shared(machine, seccomp.CLONE[column], 1 << 28) == FAIL | errno.EPERM


@pytest.mark.parametrize("machine", MACHINES)
def test_without_namespaces_there_are_no_sockets_but_connected_pairs(machine: str):
    column = MACHINES.index(machine)
    refused = FAIL | errno.EAFNOSUPPORT
    assert {ask_shared(machine, seccomp.SOCKET[column], family) for family in range(50)} == {
        refused
    }
    pair = seccomp.SOCKETPAIR[column]
    stream, datagram, raw, seqpacket, flags = 1, 2, 3, 5, 0o2004000
    for kind in (stream, seqpacket):
        assert ask_shared(machine, pair, 1, kind | flags) == ALLOW
        assert ask_shared(machine, pair, 2, kind) == refused
    for kind in (datagram, raw):
        assert ask_shared(machine, pair, 1, kind | flags) == FAIL | errno.EPROTONOSUPPORT


@pytest.mark.parametrize("machine", MACHINES)
def test_without_namespaces_only_ones_own_limits_and_order_can_be_set(machine: str):
    column = MACHINES.index(machine)
    for name, (numbers, argument) in seccomp.ONESELF.items():
        own, other = [7] * 6, [7] * 6
        own[argument], other[argument] = 0, 4711
        assert ask_shared(machine, numbers[column], *own) == ALLOW, name
        assert ask_shared(machine, numbers[column], *other) == FAIL | errno.EPERM, name


@given(machine=st.sampled_from(MACHINES), number=st.integers(0, 0x3FFFFFFF))
def test_without_namespaces_too_ordinary_calls_are_allowed(machine: str, number: int):
    column = MACHINES.index(machine)
    more = {
        numbers[column]
        for table in (seccomp.SHARED, seccomp.PRETENDED)
        for numbers in table.values()
    }
    more |= {numbers[column] for numbers, _ in seccomp.ONESELF.values()}
    if number not in LISTED[machine] | more:
        assert ask_shared(machine, number, 2**64 - 1) == ALLOW
