"""The ledger of a run: `ledger.db` in the run folder, one writer, any number of readers.

`LedgerWriter` belongs to the broker process and holds the folder's lock while it lives;
`LedgerReader` looks, also while a run is going on and after it ended.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import JsonValue

from harnesspro.core.crash import At, passing
from harnesspro.core.documents import Spend
from harnesspro.core.errors import (
    BudgetExhausted,
    ConfigError,
    HarnessProError,
    IntegrityError,
    UsageError,
)
from harnesspro.core.hashing import canonical_json
from harnesspro.core.money import format_usd, usd_from_nanos
from harnesspro.core.ports import CallEnd, ChatReply, Grant, PlannedCall, PurseName, RecordedCall
from harnesspro.core.records import Record, Step
from harnesspro.core.redact import Redact, redactor
from harnesspro.store import ledger_rows as rows
from harnesspro.store.run_lock import RunLock

LEDGER_FILE = "ledger.db"
_BUSY_MS = 30_000


class CallRecord(Record):
    """One model call as it stands in the ledger; a replayed one shows what was recorded first."""

    call_id: int
    trial_id: str
    attempt: int
    index: int
    role: str
    model: str
    draw: str
    purse: PurseName
    replay_key: str
    state: Literal["sent", "done", "failed", "ambiguous"]
    reserved_nanos: int
    attributed_nanos: int
    paid_nanos: int
    charged_nanos: int
    """What it took from the run's purse."""
    request: dict[str, JsonValue]
    reply: ChatReply | None
    fault: str | None
    replay_of: int | None
    """The call it repeats, where it was replayed."""
    created_at: str


class PurseRecord(Record):
    """What a purse holds for calls in flight and has given."""

    path: str
    cap_nanos: int | None
    reserved_nanos: int
    charged_nanos: int


class _Reading:
    """What writer and reader have in common: one connection, one lock, the questions."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._connection, self._path = connection, path
        self._lock = threading.Lock()

    def get(self, kind: str, key: str) -> Any | None:
        found = self._query(rows.GET_RECORD, (kind, key))
        return rows.parse(found[0]["value"]) if found else None

    def all(self, kind: str) -> list[tuple[str, Any]]:
        found = self._query(rows.ALL_RECORDS, (kind,))
        return [(row["key"], rows.parse(row["value"])) for row in found]

    def steps(self, trial_id: str) -> tuple[Step, ...]:
        found = self._query(rows.LAST_ATTEMPT, {"trial_id": trial_id})
        return tuple(rows.step(row) for row in found)

    def spend(self) -> Spend:
        row = self._query(rows.SPEND)[0]
        return Spend(
            improver_usd=usd_from_nanos(row["improver"]),
            target_usd=usd_from_nanos(row["target"]),
            paid_usd=usd_from_nanos(row["paid"]),
            n_ambiguous_calls=row["n_ambiguous"],
        )

    def purses(self) -> tuple[PurseRecord, ...]:
        """Every purse that was spent from, in the order of their paths."""
        return tuple(
            PurseRecord(
                path=row["name"],
                cap_nanos=row["cap_nanos"],
                reserved_nanos=row["reserved_nanos"],
                charged_nanos=row["charged_nanos"] + row["overrun_nanos"],
            )
            for row in self._query(rows.ALL_PURSES)
        )

    def calls(self) -> tuple[CallRecord, ...]:
        """Every call of the run, in the order admitted."""
        return tuple(
            CallRecord.model_validate(rows.call_fields(row)) for row in self._query(rows.ALL_CALLS)
        )

    def close(self) -> None:
        """Let go of the file."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _query(
        self, sql: str, values: tuple[Any, ...] | Mapping[str, Any] = ()
    ) -> list[sqlite3.Row]:
        with self._lock, _sqlite_errors(self._path):
            return self._connection.execute(sql, values).fetchall()


class LedgerReader(_Reading):
    """The ledger of a run folder, opened for looking only. Thread-safe."""

    def __init__(self, run_dir: str | os.PathLike[str]) -> None:
        """Open it.

        Raises:
            ConfigError: the folder holds no ledger.
            IntegrityError: the file is no ledger.
        """
        path = Path(run_dir).absolute() / LEDGER_FILE
        if not path.is_file():
            raise ConfigError(str(path), "no such ledger", fix="name a run folder that has one")
        with _sqlite_errors(path):
            super().__init__(_connect(path, "ro"), path)
        self._query("SELECT count(*) FROM calls WHERE call_id = 0")

    def put(self, kind: str, key: str, value: Any) -> None:
        """Refuse: a reader writes nothing.

        Raises:
            UsageError: always.
        """
        raise UsageError(
            str(self._path),
            f"opened for looking, asked to record {kind} {key}",
            fix="records go through the broker",
        )


class LedgerWriter(_Reading):
    """The one writer of a run folder's ledger. Thread-safe; every write is on disk on return."""

    def __init__(
        self,
        run_dir: str | os.PathLike[str],
        *,
        redact: Redact | None = None,
        at: At = passing,
    ) -> None:
        """Take the folder's lock, open or make the ledger, check it, settle what a crash left.

        `redact` is what every record, request and reply passes before it is written; by default
        what has the form of a secret is taken out. `at` is told before and after every commit.

        Raises:
            RunLocked: another process writes this run folder.
            ConfigError: the folder cannot be written, or lies on a network file system.
            IntegrityError: the ledger is damaged.
        """
        self._redact, self._at = redact or redactor(), at
        path = Path(run_dir).absolute() / LEDGER_FILE
        self._run_lock = RunLock(path.parent)
        try:
            with _sqlite_errors(path):
                super().__init__(_open_for_writing(path), path)
            self._check()
            with self._transaction() as connection:
                connection.execute(rows.CALLS_LEFT_IN_FLIGHT)
                connection.execute(rows.RELEASE_RESERVATIONS)
        except BaseException:
            self._run_lock.release()
            raise

    def close(self) -> None:
        """Let go; the ledger is then one plain file. Calls in flight stay `sent`."""
        with self._lock:
            # A reader may hold the file: then the write-ahead log just stays beside it.
            with contextlib.suppress(sqlite3.Error):
                self._connection.execute("PRAGMA journal_mode=DELETE")
            self._connection.close()
        self._run_lock.release()

    def put(self, kind: str, key: str, value: Any) -> None:
        text = canonical_json(self._redact(value))
        with self._transaction() as connection:
            found = connection.execute(rows.GET_RECORD, (kind, key)).fetchone()
            if found is None:
                connection.execute(rows.PUT_RECORD, (kind, key, text, _now()))
            elif found["value"] != text:
                raise IntegrityError(
                    f"ledger: {kind} {key}",
                    "another value is recorded under this key",
                    expected="the same value, or a key of its own",
                )

    def open_attempt(self, grant: Grant) -> int:
        with self._transaction() as connection:
            attempt: int = connection.execute(rows.NEXT_ATTEMPT, (grant.trial_id,)).fetchone()[0]
            document = canonical_json(grant.model_dump(mode="json"))
            connection.execute(rows.PUT_ATTEMPT, (grant.trial_id, attempt, document, _now()))
        return attempt

    def replay(self, call: PlannedCall) -> RecordedCall | None:
        found = self._query(rows.FIND_DONE, (call.replay_key,))
        if not found:
            return None
        original = rows.recorded(found[0])
        values = rows.planned(call, _now(), redact=self._redact) | {
            "state": "done",
            "reserved_nanos": 0,
            "attributed_nanos": original.attributed_nanos,
            "request": None,
            "replay_of": original.call_id,
        }
        with self._transaction() as connection:
            connection.execute(rows.PUT_CALL, values)
        return original

    def send(self, call: PlannedCall) -> int:
        with self._transaction() as connection:
            for purse in call.within:
                asked = {"name": purse.path, "cap": purse.cap_nanos, "amount": call.reserved_nanos}
                connection.execute(rows.OPEN_PURSE, (purse.path,))
                if connection.execute(rows.RESERVE, asked).rowcount == 0:
                    held = connection.execute(rows.PURSE, (purse.path,)).fetchone()
                    raise _refused(held, call.reserved_nanos, cap_nanos=purse.cap_nanos or 0)
            cursor = connection.execute(
                rows.PUT_CALL, rows.planned(call, _now(), redact=self._redact)
            )
        assert cursor.lastrowid is not None
        return cursor.lastrowid

    def settle(self, call_id: int, end: CallEnd) -> None:
        with self._transaction() as connection:
            sent = connection.execute(rows.SENT_CALL, (call_id,)).fetchone()
            if sent is None:
                raise IntegrityError(f"ledger: call {call_id}", "not in flight")
            values = rows.ended(sent, end, redact=self._redact)
            connection.execute(rows.END_CALL, values)
            settled = [{**values, "name": path} for path in rows.paths(sent["purse_path"])]
            connection.executemany(rows.SETTLE_PURSE, settled)

    def _check(self) -> None:
        problems = [row[0] for row in self._query("PRAGMA integrity_check") if row[0] != "ok"]
        problems += [f"orphan in {row[0]}" for row in self._query("PRAGMA foreign_key_check")]
        if problems:
            raise IntegrityError(
                str(self._path), f"damaged: {problems[0]}", fix="restore it, or start a new run"
            )

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """All or nothing, durable at the end."""
        with self._lock, _sqlite_errors(self._path):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
                self._at("commit.before")
                self._connection.execute("COMMIT")
                self._at("commit.after")
            except BaseException:
                # A failed COMMIT (full disk) may have rolled back already.
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise


def _open_for_writing(path: Path) -> sqlite3.Connection:
    connection = _connect(path, "rwc")
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("PRAGMA foreign_keys=ON")
    connection.execute(f"PRAGMA busy_timeout={_BUSY_MS}")
    _refuse_older(connection, path)
    connection.executescript(rows.SCHEMA)
    path.chmod(0o600)
    return connection


def _refuse_older(connection: sqlite3.Connection, path: Path) -> None:
    made = connection.execute("PRAGMA user_version").fetchone()[0]
    begun = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    if begun and made != rows.VERSION:
        raise ConfigError(
            str(path),
            f"a ledger of form {made}, from another version of this program",
            expected=f"form {rows.VERSION}",
            fix="go on with the version that began it, or start a new run",
        )


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    connection = sqlite3.connect(
        f"{path.as_uri()}?mode={mode}", uri=True, isolation_level=None, check_same_thread=False
    )
    connection.row_factory = sqlite3.Row
    return connection


@contextlib.contextmanager
def _sqlite_errors(path: Path) -> Iterator[None]:
    """What SQLite raises, as ours: damage is one thing, a full disk another."""
    try:
        yield
    except (sqlite3.OperationalError, sqlite3.ProgrammingError) as error:
        raise HarnessProError(
            str(path), str(error), fix="see that the disk has room and the folder can be written"
        ) from error
    except sqlite3.DatabaseError as error:
        raise IntegrityError(
            str(path), str(error), expected="a ledger", fix="restore it, or start a new run"
        ) from error


def _refused(purse: sqlite3.Row, amount: int, *, cap_nanos: int) -> BudgetExhausted:
    def usd(nanos: int) -> str:
        return format_usd(usd_from_nanos(nanos))

    spent, held = purse["charged_nanos"] + purse["overrun_nanos"], purse["reserved_nanos"]
    error = BudgetExhausted(
        f"budget of the {purse['name'].replace('/', ', ')}",
        f"{usd(spent)} of {usd(cap_nanos)} spent and {usd(held)} held for calls in flight; "
        f"the next call may cost {usd(amount)}",
        fix="raise the budget to go on",
    )
    error.purse_path = purse["name"]
    return error


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
