"""The sandbox as bubblewrap arguments."""

import pytest

from harnesspro.sandbox import box


def content(prefix: str = "/opt/python", broker: str | None = "/b") -> list[str]:
    python = ("/neutral", prefix)
    return box.content(python=python, etc="/e", judge="/j", code="/c", work="/w", broker=broker)


def test_every_namespace_is_named_and_none_can_be_made():
    assert " ".join(box.isolation()) == (
        "--unshare-user --unshare-ipc --unshare-pid --unshare-net --unshare-uts "
        "--unshare-cgroup-try --disable-userns --die-with-parent --new-session "
        "--cap-drop ALL --hostname sandbox"
    )


def test_only_the_work_folder_is_writable_and_the_roots_close_last():
    assert " ".join(content()) == (
        "--ro-bind /e /etc --ro-bind /j /judge --ro-bind /c /harness "
        "--ro-bind /neutral /opt/python --ro-bind /b /run/broker.sock "
        "--bind /w /work --remount-ro /dev --remount-ro / --chdir /work"
    )


def test_an_interpreter_of_the_system_needs_no_mount_of_its_own():
    assert "/neutral" not in content("/usr") + content("/usr/local")


def test_no_broker_no_socket():
    assert "/run/broker.sock" not in content(broker=None)


def test_links_of_the_host_stay_links_and_folders_are_shown():
    shown = " ".join(box.system({"bin": "usr/bin"}, ["lib"]))
    assert shown == "--ro-bind /usr /usr --symlink usr/bin /bin --ro-bind /lib /lib"


def test_the_named_variables_come_on_top_of_three():
    assert box.environment("/work", "/opt/python", {"SEED": "7", "LANG": "C"}) == {
        "PATH": "/usr/local/bin:/usr/bin:/bin:/opt/python/bin",
        "HOME": "/work",
        "LANG": "C",
        "SEED": "7",
    }


def test_a_system_interpreter_adds_nothing_to_the_path():
    assert box.environment("/work", "/usr", {})["PATH"] == "/usr/local/bin:/usr/bin:/bin"


@pytest.mark.parametrize(
    ("name", "value"),
    [("A", "b\0--bind\0/\0/host"), ("A\0--bind", "b"), ("", "b"), ("A=B", "c")],
)
def test_a_variable_cannot_become_an_argument(name: str, value: str):
    with pytest.raises(ValueError, match="no variable that can be set"):
        box.variables({name: value})


def test_variables_are_set_one_by_one():
    assert box.variables({"A": "1", "B": ""}) == ["--setenv", "A", "1", "--setenv", "B", ""]
