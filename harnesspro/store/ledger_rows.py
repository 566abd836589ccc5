"""The ledger's tables, statements, and the way between rows and records. Knows no connection."""

from __future__ import annotations

import json
import sqlite3
from typing import Any

from harnesspro.core.hashing import canonical_json
from harnesspro.core.ports import CallEnd, ChatReply, PlannedCall, RecordedCall
from harnesspro.core.records import Step, Usage
from harnesspro.core.redact import Redact

# Records and attempts are only ever added; a call moves once, from `sent` to its end.
VERSION = 2
"""Of the tables; a ledger of another form is not written."""
SCHEMA = f"""
PRAGMA user_version = {VERSION};
CREATE TABLE IF NOT EXISTS records (
  seq INTEGER PRIMARY KEY,
  kind TEXT NOT NULL,
  key TEXT NOT NULL,
  value TEXT NOT NULL CHECK (json_valid(value)),
  created_at TEXT NOT NULL,
  UNIQUE (kind, key)
) STRICT;
CREATE TABLE IF NOT EXISTS purses (
  name TEXT PRIMARY KEY,
  cap_nanos INTEGER,
  reserved_nanos INTEGER NOT NULL DEFAULT 0 CHECK (reserved_nanos >= 0),
  charged_nanos INTEGER NOT NULL DEFAULT 0 CHECK (charged_nanos >= 0),
  overrun_nanos INTEGER NOT NULL DEFAULT 0 CHECK (overrun_nanos >= 0),
  CHECK (cap_nanos IS NULL OR reserved_nanos + charged_nanos <= cap_nanos)
) STRICT;
CREATE TABLE IF NOT EXISTS attempts (
  trial_id TEXT NOT NULL,
  attempt INTEGER NOT NULL,
  trial_grant TEXT NOT NULL,
  created_at TEXT NOT NULL,
  PRIMARY KEY (trial_id, attempt)
) STRICT;
CREATE TABLE IF NOT EXISTS calls (
  call_id INTEGER PRIMARY KEY,
  trial_id TEXT NOT NULL,
  attempt INTEGER NOT NULL,
  call_index INTEGER NOT NULL,
  role TEXT NOT NULL,
  model TEXT NOT NULL,
  draw TEXT NOT NULL,
  purse TEXT NOT NULL CHECK (purse IN ('improver', 'target')),
  purse_path TEXT NOT NULL,
  replay_key TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('sent', 'done', 'failed', 'ambiguous')),
  paid INTEGER NOT NULL CHECK (paid IN (0, 1)),
  reserved_nanos INTEGER NOT NULL CHECK (reserved_nanos >= 0),
  attributed_nanos INTEGER NOT NULL DEFAULT 0 CHECK (attributed_nanos >= 0),
  paid_nanos INTEGER NOT NULL DEFAULT 0 CHECK (paid_nanos >= 0),
  charged_nanos INTEGER NOT NULL DEFAULT 0 CHECK (charged_nanos >= 0),
  request TEXT,
  reply TEXT,
  usage TEXT,
  finish_reason TEXT,
  latency_s REAL,
  fault TEXT,
  replay_of INTEGER REFERENCES calls (call_id),
  created_at TEXT NOT NULL,
  FOREIGN KEY (trial_id, attempt) REFERENCES attempts (trial_id, attempt),
  UNIQUE (trial_id, attempt, call_index),
  CHECK (replay_of IS NULL OR charged_nanos + paid_nanos + reserved_nanos = 0)
) STRICT;
CREATE UNIQUE INDEX IF NOT EXISTS calls_paid_once ON calls (replay_key)
  WHERE state = 'done' AND replay_of IS NULL;
CREATE INDEX IF NOT EXISTS calls_in_flight ON calls (call_id) WHERE state = 'sent';
CREATE TRIGGER IF NOT EXISTS records_stand BEFORE UPDATE ON records
  BEGIN SELECT RAISE (ABORT, 'a record is never changed'); END;
CREATE TRIGGER IF NOT EXISTS records_stay BEFORE DELETE ON records
  BEGIN SELECT RAISE (ABORT, 'a record is never removed'); END;
CREATE TRIGGER IF NOT EXISTS ends_stand BEFORE UPDATE ON calls WHEN OLD.state <> 'sent'
  BEGIN SELECT RAISE (ABORT, 'a call ends once'); END;
CREATE TRIGGER IF NOT EXISTS calls_stay BEFORE DELETE ON calls
  BEGIN SELECT RAISE (ABORT, 'a call is never removed'); END;
"""

GET_RECORD = "SELECT value FROM records WHERE kind = ? AND key = ?"
ALL_RECORDS = "SELECT key, value FROM records WHERE kind = ? ORDER BY seq"
PUT_RECORD = "INSERT INTO records (kind, key, value, created_at) VALUES (?, ?, ?, ?)"

NEXT_ATTEMPT = "SELECT coalesce(max(attempt) + 1, 0) FROM attempts WHERE trial_id = ?"
PUT_ATTEMPT = (
    "INSERT INTO attempts (trial_id, attempt, trial_grant, created_at) VALUES (?, ?, ?, ?)"
)

PURSE = "SELECT * FROM purses WHERE name = ?"
OPEN_PURSE = "INSERT OR IGNORE INTO purses (name) VALUES (?)"
RESERVE = """
UPDATE purses SET cap_nanos = :cap, reserved_nanos = reserved_nanos + :amount
WHERE name = :name AND (
  :cap IS NULL OR reserved_nanos + charged_nanos + overrun_nanos + :amount <= :cap)
"""
SETTLE_PURSE = """
UPDATE purses SET reserved_nanos = reserved_nanos - :reserved_nanos,
  charged_nanos = charged_nanos + min(:charged_nanos, :reserved_nanos),
  overrun_nanos = overrun_nanos + max(:charged_nanos - :reserved_nanos, 0)
WHERE name = :name
"""
ALL_PURSES = "SELECT * FROM purses ORDER BY name"

PUT_CALL = """
INSERT INTO calls (trial_id, attempt, call_index, role, model, draw, purse, purse_path, replay_key,
  state, paid, reserved_nanos, attributed_nanos, request, replay_of, created_at)
VALUES (:trial_id, :attempt, :call_index, :role, :model, :draw, :purse, :purse_path, :replay_key,
  :state, :paid, :reserved_nanos, :attributed_nanos, :request, :replay_of, :created_at)
"""
FIND_DONE = """
SELECT call_id, reply, attributed_nanos FROM calls
WHERE replay_key = ? AND state = 'done' AND replay_of IS NULL
"""
SENT_CALL = """
SELECT call_id, paid, reserved_nanos, purse_path FROM calls WHERE call_id = ? AND state = 'sent'
"""
END_CALL = """
UPDATE calls SET state = :state, attributed_nanos = :attributed_nanos, paid_nanos = :paid_nanos,
  charged_nanos = :charged_nanos, reply = :reply, usage = :usage, finish_reason = :finish_reason,
  latency_s = :latency_s, fault = :fault
WHERE call_id = :call_id
"""

# After a crash: whatever was sent may have been billed, so it stays charged in full.
CALLS_LEFT_IN_FLIGHT = """
UPDATE calls SET state = 'ambiguous', attributed_nanos = reserved_nanos,
  charged_nanos = reserved_nanos, paid_nanos = reserved_nanos * paid,
  fault = 'the broker died while the call was in flight'
WHERE state = 'sent'
"""
RELEASE_RESERVATIONS = """
UPDATE purses SET charged_nanos = charged_nanos + reserved_nanos, reserved_nanos = 0
"""

SPEND = """
SELECT coalesce(sum(attributed_nanos) FILTER (WHERE purse = 'improver'), 0) AS improver,
  coalesce(sum(attributed_nanos) FILTER (WHERE purse = 'target'), 0) AS target,
  coalesce(sum(paid_nanos), 0) AS paid,
  count(*) FILTER (WHERE state = 'ambiguous') AS n_ambiguous
FROM calls WHERE replay_of IS NULL
"""

_CALLS = """
SELECT c.*, coalesce(c.request, o.request) AS full_request, coalesce(c.reply, o.reply) AS full_reply
FROM calls c LEFT JOIN calls o ON o.call_id = c.replay_of
"""
ALL_CALLS = f"{_CALLS} ORDER BY c.call_id"
LAST_ATTEMPT = f"""{_CALLS}
WHERE c.state = 'done' AND c.trial_id = :trial_id AND c.attempt = (
  SELECT max(attempt) FROM attempts WHERE trial_id = :trial_id)
ORDER BY c.call_index
"""  # noqa: S608 - constants only


def parse(text: str) -> Any:
    """The JSON value of a column."""
    return json.loads(text)


def planned(call: PlannedCall, created_at: str, *, redact: Redact) -> dict[str, Any]:
    """The columns of a call that is about to leave."""
    return {
        "trial_id": call.trial_id,
        "attempt": call.attempt,
        "call_index": call.index,
        "role": call.role,
        "model": call.request.model,
        "draw": call.draw,
        "purse": call.purse,
        "purse_path": call.within[-1].path,
        "replay_key": call.replay_key,
        "state": "sent",
        "paid": int(call.paid),
        "reserved_nanos": call.reserved_nanos,
        "attributed_nanos": 0,
        "request": canonical_json(redact(call.request.model_dump(mode="json", exclude_none=True))),
        "replay_of": None,
        "created_at": created_at,
    }


def paths(innermost: str) -> list[str]:
    """A purse and all it lies in, the outermost first."""
    names = innermost.split("/")
    return ["/".join(names[: n + 1]) for n in range(len(names))]


def ended(sent: sqlite3.Row, end: CallEnd, *, redact: Redact) -> dict[str, Any]:
    """The columns a sent call gets at its end, and what the purse needs to know."""
    attributed = sent["reserved_nanos"] if end.state == "ambiguous" else end.attributed_nanos
    reply = end.reply
    return {
        "call_id": sent["call_id"],
        "state": end.state,
        "reserved_nanos": sent["reserved_nanos"],
        "attributed_nanos": attributed,
        "charged_nanos": attributed,
        "paid_nanos": attributed * sent["paid"],
        "reply": canonical_json(redact(reply.model_dump(mode="json"))) if reply else None,
        "usage": canonical_json(reply.usage.model_dump(mode="json")) if reply else None,
        "finish_reason": reply.finish_reason if reply else None,
        "latency_s": reply.latency_s if reply else None,
        "fault": redact(end.fault),
    }


def recorded(row: sqlite3.Row) -> RecordedCall:
    """A done call, as the broker hands it out again."""
    return RecordedCall(
        call_id=row["call_id"],
        reply=ChatReply.model_validate_json(row["reply"]),
        attributed_nanos=row["attributed_nanos"],
    )


def call_fields(row: sqlite3.Row) -> dict[str, Any]:
    """The fields of a `CallRecord`."""
    names = (
        "call_id trial_id attempt role model draw purse replay_key state reserved_nanos "
        "attributed_nanos paid_nanos charged_nanos fault replay_of created_at"
    )
    return {name: row[name] for name in names.split()} | {
        "index": row["call_index"],
        "request": parse(row["full_request"]),
        "reply": parse(row["full_reply"]) if row["full_reply"] else None,
    }


def step(row: sqlite3.Row) -> Step:
    """A done call as a step of its trial; a reply of tool calls alone reads as their JSON."""
    reply = ChatReply.model_validate_json(row["full_reply"])
    calls = canonical_json(list(reply.tool_calls)) if reply.tool_calls else ""
    request = parse(row["full_request"])
    for name in ("model", "seed"):
        request.pop(name, None)
    return Step(
        index=row["call_index"],
        role=row["role"],
        model=row["model"],
        request=request,
        reply=reply.text or calls,
        finish_reason=reply.finish_reason,
        usage=Usage.model_validate(reply.usage),
        cost_nanos=row["attributed_nanos"],
        latency_s=reply.latency_s,
        replayed=row["replay_of"] is not None,
    )
