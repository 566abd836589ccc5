"""Every exception HarnessPro raises on purpose, with the exit code the command line gives it.

HarnessProError                       1
├── UsageError                        2   the command line or a call is off
├── ConfigError                       3   something the caller owns must be mended first
│   ├── ManifestError                     a harness folder is not valid
│   ├── TasksError                        tasks do not parse, or gold stands in a public field
│   ├── PatchError                        an edit does not fit the harness it was made for
│   ├── SandboxUnavailable                no isolation on this system
│   ├── ModelUnknown                      no such model, or no price for it
│   └── RunLocked                         another process writes this run folder
├── BudgetExhausted                   4   a purse cannot cover the worst case of the next call
├── ProviderError                     6   the provider failed for good, or refused the key
│   ├── ProviderBusy                      a passing fault, nothing billed: may be tried again
│   ├── ProviderSilent                    sent, and no whole reply came: may have been billed
│   └── RequestRefused                    this one request cannot be answered: the asker's fault
└── IntegrityError                    1   a hash, a ledger or a certificate does not hold

A harness that misbehaves is not an exception: it is a Trial with an outcome.
"""

from __future__ import annotations

from collections.abc import Mapping

EXIT_INTERRUPTED = 130
"""What the command line gives for Ctrl-C, which is no error."""


class HarnessProError(Exception):
    """Root of the tree. ``str(error)`` is one line: where: found; expected; what to do."""

    exit_code = 1

    def __init__(self, where: str, found: str, *, expected: str = "", fix: str = "") -> None:
        """Compose the one line a person reads; the four parts stay readable as attributes."""
        self.where, self.found, self.expected, self.fix = where, found, expected, fix
        line = f"{where}: {found}"
        if expected:
            line += f"; expected {expected}"
        if fix:
            line += f"; {fix}"
        super().__init__(line)

    def document(self) -> dict[str, str]:
        """Its class and its four parts, to be sent to another process; `rebuilt` reads it back."""
        return {
            "error": type(self).__name__,
            "where": self.where,
            "found": self.found,
            "expected": self.expected,
            "fix": self.fix,
        }


class UsageError(HarnessProError):
    """The command line or a library call is off."""

    exit_code = 2


class ConfigError(HarnessProError):
    """Something the caller owns must be mended before any money is spent."""

    exit_code = 3


class ManifestError(ConfigError):
    """A harness folder is not valid."""


class TasksError(ConfigError):
    """Tasks do not parse, or gold stands in a public field."""


class PatchError(ConfigError):
    """An edit does not fit the harness it was made for."""


class SandboxUnavailable(ConfigError):
    """No isolation can be had on this system."""


class ModelUnknown(ConfigError):
    """No such model, or no price for it."""


class RunLocked(ConfigError):
    """Another process writes this run folder."""


class BudgetExhausted(HarnessProError):
    """A purse cannot cover the worst case of the next call."""

    exit_code = 4
    purse_path = "run"
    """Which purse; the raiser names another where it is not the run's."""


class ProviderError(HarnessProError):
    """The provider failed for good, or refused the key."""

    exit_code = 6


class ProviderBusy(ProviderError):
    """A passing fault (rate limit, overload, nothing listening): not billed, may be tried again."""

    retry_after_s: float | None = None
    """When the provider said to come back; the raiser sets it where it was told."""


class ProviderSilent(ProviderError):
    """The request was sent and no whole reply came back: it may have been billed."""


class RequestRefused(ProviderError):
    """The provider works but refuses this request: too long, or a schema it cannot read.

    Inside a trial that is the harness's fault, not the ground's.
    """


class IntegrityError(HarnessProError):
    """A hash, a ledger or a certificate does not hold."""


def rebuilt(document: Mapping[str, str]) -> HarnessProError:
    """The error a `document` was made of; its root class where this program has no such class.

    Raises:
        KeyError: a part is missing.
    """
    kind = globals().get(document["error"])
    if not (isinstance(kind, type) and issubclass(kind, HarnessProError)):
        kind = HarnessProError
    return kind(
        document["where"], document["found"], expected=document["expected"], fix=document["fix"]
    )
