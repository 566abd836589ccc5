"""Puts the verbs together and turns every error into one line and an exit code."""

from __future__ import annotations

import os
import sys

import typer

import harnesspro
from harnesspro.cli import audit, channels, gold, looking, models, prices, running
from harnesspro.cli.output import put_json, say
from harnesspro.core.errors import EXIT_INTERRUPTED, HarnessProError


def build_app() -> typer.Typer:
    """The app with every verb on it."""
    app = typer.Typer(
        name="harnesspro",
        help="Makes the harness around your LLM cheaper and better without seeing a right answer.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
    )

    @app.callback(invoke_without_command=True)
    def root(
        version: bool = typer.Option(False, "--version", help="Print the version and exit."),
    ) -> None:
        if version:
            typer.echo(harnesspro.__version__)
            raise typer.Exit

    for family in (running, looking, channels, gold, audit, models, prices):
        family.register(app)
    return app


def main() -> None:
    """Entry point of the `harnesspro` command."""
    arguments = sys.argv[1:]
    try:
        code = build_app()(args=arguments, prog_name="harnesspro", standalone_mode=False)
    except HarnessProError as error:
        report(error, as_json="--json" in arguments)
        code = error.exit_code
    except KeyboardInterrupt:
        code = EXIT_INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 1
    except OSError as error:
        report(
            HarnessProError(error.filename or "system", error.strerror or str(error)),
            as_json="--json" in arguments,
        )
        code = 1
    except Exception as error:
        code = _usage_exit(error)
        if code is None:
            raise
    sys.exit(code if isinstance(code, int) else 0)


def report(error: HarnessProError, *, as_json: bool) -> None:
    """One line on stderr; with --json also a document on stdout."""
    say(f"harnesspro: {error}")
    if as_json:
        document = {
            "schema": "harnesspro/error@1",
            **error.document(),
            "exit_code": error.exit_code,
        }
        put_json(document)


def _usage_exit(error: Exception) -> int | None:
    """The exit code of an error of the command-line parser itself, else None."""
    show = getattr(error, "show", None)
    code = getattr(error, "exit_code", None)
    if code is None:
        return None
    if show is not None:
        show()
    return int(code)
