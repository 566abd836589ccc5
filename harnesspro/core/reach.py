"""What a patch would newly reach for: networks, processes, secrets, code made at run time, addresses.

A filter on text: it names what is plainly there. What code can do where it runs is bounded by the
sandbox; this is for whoever takes the harness out of it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping

_NETWORK = "the network"
_PROCESSES = "other processes"
_MADE = "code made at run time"
MODULES: Mapping[str, str] = {
    **dict.fromkeys(("socket", "socketserver", "ssl", "urllib", "http", "ftplib"), _NETWORK),
    **dict.fromkeys(("smtplib", "poplib", "imaplib", "nntplib", "telnetlib"), _NETWORK),
    **dict.fromkeys(("xmlrpc", "webbrowser", "wsgiref", "asyncore", "asyncio"), _NETWORK),
    **dict.fromkeys(("subprocess", "multiprocessing", "pty", "ctypes"), _PROCESSES),
    **dict.fromkeys(("importlib", "runpy", "pickle", "marshal", "shelve"), _MADE),
    **dict.fromkeys(("code", "codeop", "zipimport", "pkgutil"), _MADE),
}
"""Module of the standard library -> what it reaches for."""
_BUILTINS = frozenset({"eval", "exec", "compile", "__import__", "breakpoint"})
_OF_OS = frozenset(
    {"environ", "environb", "getenv", "putenv", "system", "popen", "fork", "forkpty", "kill"}
)
_OF_OS_BEGINNING = ("exec", "spawn", "posix_spawn")
_ADDRESS = re.compile(
    r"\b[a-z][a-z0-9+.-]{1,15}://[^\s\"'<>`\\)\]}]+"
    r"|\bwww\.[\w-]+\.[a-z]{2,}"
    r"|\b[\w.+-]+@[\w-]+\.[a-z]{2,}"
    r"|(?<![\d.])(?:\d{1,3}\.){3}\d{1,3}(?!\.?\d)",
    re.IGNORECASE,
)


def addresses(text: str) -> frozenset[str]:
    """URLs, mail addresses and IPv4 addresses in a text, lower case."""
    return frozenset(found.rstrip(".,;:!?").lower() for found in _ADDRESS.findall(text))


def reached(files: Mapping[str, str]) -> frozenset[str]:
    """What the Python files of a harness reach for, each in a few words; what does not parse: none."""
    found: set[str] = set()
    for path, text in files.items():
        if path.endswith(".py"):
            try:
                tree = ast.parse(text)
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                continue
            found.update(_of_tree(tree))
    return frozenset(found)


def _of_tree(tree: ast.Module) -> Iterator[str]:
    aliases = {
        alias.asname or alias.name: alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for alias in node.names
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from _of_module(alias.name)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield from _of_module(str(node.module))
            for alias in node.names:
                yield from _of_name(str(node.module), alias.name)
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            yield from _of_name(aliases.get(node.value.id, node.value.id), node.attr)
        elif isinstance(node, ast.Name) and node.id in _BUILTINS:
            yield f"{_MADE} ({node.id})"


def _of_module(name: str) -> Iterator[str]:
    top = name.partition(".")[0]
    if top in MODULES:
        yield f"{MODULES[top]} ({top})"


def _of_name(module: str, name: str) -> Iterator[str]:
    if module in ("os", "posix") and (name in _OF_OS or name.startswith(_OF_OS_BEGINNING)):
        yield f"the system (os.{name})"
    elif module in ("builtins", "__builtins__") and name in _BUILTINS:
        yield f"{_MADE} ({name})"
