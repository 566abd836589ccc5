"""One open trial: what it may still do, what it did, and how many calls are in flight."""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import dataclass, field
from typing import NoReturn

from harnesspro.broker.wire import Refused
from harnesspro.core.money import format_usd, nanos_from_usd, usd_from_nanos
from harnesspro.core.ports import ChatReply, Grant, Metered, PurseKind
from harnesspro.core.records import Usage


@dataclass(frozen=True, slots=True)
class Ticket:
    """A call that was let in; it is handed back when the call is over."""

    index: int
    occurrence: int
    """How often this very request was let in before, in this trial."""
    worst_nanos: int


@dataclass(frozen=True, slots=True)
class Answer:
    """A reply, what it is attributed, and whether it was paid for before."""

    reply: ChatReply
    attributed_nanos: int
    paid_nanos: int
    replayed: bool


@dataclass(slots=True)
class OpenTrial:
    """The limits of one trial, held outside the harness. Thread-safe."""

    grant: Grant
    attempt: int
    _idle: threading.Condition = field(default_factory=threading.Condition)
    _n_admitted: int = 0
    _n_in_flight: int = 0
    _reserved_nanos: int = 0
    _asked: Counter[str] = field(default_factory=Counter)
    _answers: list[Answer] = field(default_factory=list)
    _limit_hit: str | None = None
    _ground_fault: str | None = None
    _closed: bool = False

    def admit(self, request_hash: str, worst_nanos: int) -> Ticket:
        """Let a call in whose worst case the trial's limits still cover, once fewer than
        `concurrent_calls` are in flight.

        Raises:
            Refused: calls or dollars are used up, and the trial remembers which; or it is over.
        """
        limits = self.grant.limits
        with self._idle:
            self._idle.wait_for(lambda: self._closed or self._n_in_flight < limits.concurrent_calls)
            if self._closed:
                raise Refused(401, "token", "its trial is over")
            if self._n_admitted >= limits.calls:
                self._refuse("calls", f"all {limits.calls} calls of the trial are used up")
            spent = sum(answer.attributed_nanos for answer in self._answers)
            held = spent + self._reserved_nanos
            if held + worst_nanos > nanos_from_usd(limits.usd):
                self._refuse(
                    "usd",
                    f"the next call may cost {_usd(worst_nanos)}, and {_usd(held)} of the trial's "
                    f"{format_usd(limits.usd)} are used or held",
                )
            ticket = Ticket(self._n_admitted, self._asked[request_hash], worst_nanos)
            self._asked[request_hash] += 1
            self._n_admitted += 1
            self._n_in_flight += 1
            self._reserved_nanos += worst_nanos
        return ticket

    def leave(self, ticket: Ticket, answer: Answer | None) -> None:
        """The call is over, with an answer or without."""
        with self._idle:
            self._n_in_flight -= 1
            self._reserved_nanos -= ticket.worst_nanos
            if answer is not None:
                self._answers.append(answer)
            self._idle.notify_all()

    def purse_is_empty(self, kind: PurseKind) -> None:
        """Remember that a purse around the trial, not its own limit, refused."""
        self._limit_hit = self._limit_hit or f"{kind}_budget"

    def ground_gave_way(self, fault: str) -> None:
        """Remember that a call failed through no fault of the harness."""
        self._ground_fault = self._ground_fault or fault

    def metered(self) -> Metered:
        """Let nothing more in, wait for the calls in flight, then count."""
        with self._idle:
            self._closed = True
            self._idle.notify_all()
            self._idle.wait_for(lambda: self._n_in_flight == 0)
            answers = self._answers
            return Metered.model_validate(
                {
                    "usage": sum((answer.reply.usage for answer in answers), Usage()),
                    "n_calls": self._n_admitted,
                    "n_replayed": sum(answer.replayed for answer in answers),
                    "cost_nanos": sum(answer.attributed_nanos for answer in answers),
                    "paid_nanos": sum(answer.paid_nanos for answer in answers),
                    "model_latency_s": sum(answer.reply.latency_s for answer in answers),
                    "limit_hit": self._limit_hit,
                    "ground_fault": self._ground_fault,
                }
            )

    def _refuse(self, limit: str, message: str) -> NoReturn:
        self._limit_hit = self._limit_hit or limit
        raise Refused(402, "limit", message)


def _usd(nanos: int) -> str:
    return format_usd(usd_from_nanos(nanos))
