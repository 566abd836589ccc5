"""Where the shipped `agents/`, `harnesses/` and `archive/` folders are: wheel or checkout."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

from harnesspro.core.errors import ConfigError


def content_root() -> Path:
    """The folder that holds `agents/`, `harnesses/` and `archive/`.

    Raises:
        ConfigError: neither the installed data nor a checkout is there.
    """
    package = Path(str(resources.files("harnesspro")))
    for root in (package / "_content", package.parent):
        if (root / "harnesses").is_dir() and (root / "agents").is_dir():
            return root
    raise ConfigError(
        "installation", f"no shipped content beside {package}", fix="reinstall harnesspro"
    )


def harness_path(ref: str) -> Path:
    """The folder of `HARNESS` as written on the command line: a path, or `builtin:NAME`.

    `builtin:NAME` looks in `harnesses/`, then in `agents/`.

    Raises:
        ConfigError: there is no such folder.
    """
    if not ref.startswith("builtin:"):
        path = Path(ref).expanduser().resolve()
        if not path.is_dir():
            raise ConfigError(
                ref,
                "no such harness folder",
                expected="a folder with a harness.yaml, or builtin:NAME",
                fix=f"shipped: {', '.join(builtin_names())}",
            )
        return path
    name, root = ref.removeprefix("builtin:"), content_root()
    for kind in ("harnesses", "agents"):
        path = root / kind / name
        if name and "/" not in name and (path / "harness.yaml").is_file():
            return path
    raise ConfigError(ref, "no shipped harness of this name", expected=", ".join(builtin_names()))


def builtin_names() -> tuple[str, ...]:
    """`builtin:NAME` of every shipped target harness."""
    found = sorted((content_root() / "harnesses").glob("*/harness.yaml"))
    return tuple(f"builtin:{path.parent.name}" for path in found)
