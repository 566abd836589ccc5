"""The desk where trials ask for models: limits, replay, reservation, call, settlement."""

from __future__ import annotations

import secrets
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from harnesspro.broker.config import BrokerConfig
from harnesspro.broker.flight import SingleFlight
from harnesspro.broker.patience import Patience
from harnesspro.broker.trials import Answer, OpenTrial, Ticket
from harnesspro.broker.wire import Refused, completion, parse_body, read_call, token_bound
from harnesspro.core.aliases import same_model
from harnesspro.core.crash import At, passing
from harnesspro.core.documents import Spend
from harnesspro.core.errors import (
    BudgetExhausted,
    ModelUnknown,
    ProviderError,
    ProviderSilent,
    RequestRefused,
    UsageError,
)
from harnesspro.core.money import cost_nanos, worst_case_nanos
from harnesspro.core.ports import (
    CallEnd,
    ChatReply,
    ChatRequest,
    Grant,
    Metered,
    ModelProvider,
    PlannedCall,
    Purse,
    RunLedger,
)
from harnesspro.core.records import Price
from harnesspro.core.replay import replay_key, request_hash, seed_for

ANSWERED_AS = "answered_as"
"""The kind of record that says so."""


class CallDesk:
    """A `Meter`, and the trials' side of it. Thread-safe; every method may block."""

    def __init__(
        self,
        config: BrokerConfig,
        provider_for: Callable[[str], ModelProvider],
        ledger: RunLedger,
        at: At = passing,
    ) -> None:
        self._config, self._provider_for, self._ledger = config, provider_for, ledger
        self._at = at
        self._lock = threading.Lock()
        self._trials: dict[str, OpenTrial] = {}
        self._providers: dict[str, ModelProvider] = {}
        self._flights: SingleFlight[Answer] = SingleFlight()
        self._purse = threading.Condition()
        self._n_sent: Counter[str] = Counter()
        self._patience = Patience(
            n_tries=config.n_tries,
            backoff_s=config.backoff_s,
            call_timeout_s=config.call_timeout_s,
        )

    def open_trial(self, grant: Grant) -> str:
        """A fresh token for one trial.

        Raises:
            ModelUnknown: a model of the grant has no price.
            ProviderBusy: a model of the grant answers nobody at the moment; ask again a little later.
        """
        for model in grant.models.values():
            price_of(model, self._config.prices)
            self._patience.require(model)
        token = secrets.token_urlsafe(24)
        trial = OpenTrial(grant, self._ledger.open_attempt(grant))
        with self._lock:
            self._trials[token] = trial
        return token

    def close_trial(self, token: str) -> Metered:
        """Retire the token and give the count, after the calls in flight.

        Raises:
            UsageError: no such token, or it is retired.
        """
        with self._lock:
            trial = self._trials.pop(token, None)
        if trial is None:
            raise UsageError("trial token", "unknown or retired")
        return trial.metered()

    def spend(self) -> Spend:
        """The run's spend so far."""
        return self._ledger.spend()

    def complete(self, token: str, raw: bytes) -> dict[str, Any]:
        """The completion document for the body of one request.

        Raises:
            Refused: with the HTTP status and the code to answer.
        """
        with self._lock:
            trial = self._trials.get(token)
        if trial is None:
            raise Refused(401, "token", "this token is unknown, or its trial is over")
        role, request = read_call(parse_body(raw), trial.grant)
        worst = worst_case_nanos(
            in_tokens=token_bound(request),
            max_out_tokens=request.max_output_tokens,
            price=price_of(request.model, self._config.prices),
        )
        ticket = trial.admit(request_hash(request), worst)
        answer = None
        try:
            call = self._plan(trial, ticket, role=role, request=request)
            answer = self._answer(trial, call)
        finally:
            trial.leave(ticket, answer)
        return completion(role, call.replay_key, answer.reply)

    def _plan(
        self, trial: OpenTrial, ticket: Ticket, *, role: str, request: ChatRequest
    ) -> PlannedCall:
        grant = trial.grant
        key = replay_key(request, grant.draw, ticket.occurrence)
        return PlannedCall(
            trial_id=grant.trial_id,
            attempt=trial.attempt,
            index=ticket.index,
            role=role,
            draw=grant.draw,
            purse=grant.purse,
            within=self._purses(grant),
            replay_key=key,
            reserved_nanos=ticket.worst_nanos,
            paid=self._config.prices[request.model].paid,
            request=request.model_copy(update={"seed": seed_for(key)}),
        )

    def _purses(self, grant: Grant) -> tuple[Purse, ...]:
        """Every purse a trial's calls are reserved from: the run's, its side's, and those named."""
        improver_cap = self._config.improver_cap_nanos
        run = Purse(path="run", kind="run", cap_nanos=self._config.cap_nanos)
        if grant.purse == "improver":
            side = Purse(path="run/improver", kind="improver", cap_nanos=improver_cap)
        else:
            side = Purse(path="run/target", kind="run")
        return (run, side, *grant.within)

    def _answer(self, trial: OpenTrial, call: PlannedCall) -> Answer:
        """The answer, its failures told to the trial and turned into what HTTP says."""
        try:
            return self._answer_once(call)
        except BudgetExhausted as error:
            kind = next(p.kind for p in call.within if p.path == error.purse_path)
            trial.purse_is_empty(kind)
            raise Refused(402, "limit", f"the {kind}'s budget is used up") from error
        except RequestRefused as error:
            raise Refused(400, "invalid", error.found) from error
        except (ProviderError, ModelUnknown) as error:
            trial.ground_gave_way(str(error))
            raise Refused(503, "ground", "the model could not be reached") from error
        except BaseException as error:
            trial.ground_gave_way(f"broker: {type(error).__name__}: {error}")
            raise

    def _answer_once(self, call: PlannedCall) -> Answer:
        """Paid at most once for a key, however many ask at once."""
        led = self._flights.lead(call.replay_key, lambda: self._replayed(call) or self._paid(call))
        answer = led or self._replayed(call)
        assert answer is not None, "whoever was waited for has settled"
        return answer

    def _replayed(self, call: PlannedCall) -> Answer | None:
        recorded = self._ledger.replay(call)
        if recorded is None:
            return None
        return Answer(recorded.reply, recorded.attributed_nanos, paid_nanos=0, replayed=True)

    def _paid(self, call: PlannedCall) -> Answer:
        provider = self._provider(call.request.model)
        call_id = self._send(call)
        # Whatever escapes below without an end of its own may have been billed.
        end = CallEnd("ambiguous", fault="broke off")
        try:
            self._at("call.sent")
            reply = self._patience.complete(provider, call.request)
            self._at("call.replied")
            self._note_the_name(call.request.model, reply.model)
            nanos = _attributed(reply, self._config.prices[call.request.model])
            end = CallEnd("done", reply=reply, attributed_nanos=nanos)
        except ProviderSilent as error:
            end = CallEnd("ambiguous", fault=str(error))
            raise
        except (ProviderError, ModelUnknown) as error:
            end = CallEnd("failed", fault=str(error))
            raise
        finally:
            self._settle(call_id, call, end)
        return Answer(reply, nanos, paid_nanos=nanos if call.paid else 0, replayed=False)

    def _note_the_name(self, asked: str, told: str) -> None:
        """Put on record, once, that a model answered under another name than it was asked by."""
        if not same_model(asked, told):
            self._ledger.put(ANSWERED_AS, f"{asked} {told}", {"asked": asked, "told": told})

    def _send(self, call: PlannedCall) -> int:
        """Reserve; where the purse refuses, what calls in flight give back is waited for."""
        with self._purse:
            while True:
                try:
                    call_id = self._ledger.send(call)
                except BudgetExhausted as error:
                    if self._n_sent[error.purse_path] == 0:
                        raise
                    self._purse.wait()
                else:
                    self._n_sent.update(purse.path for purse in call.within)
                    return call_id

    def _settle(self, call_id: int, call: PlannedCall, end: CallEnd) -> None:
        try:
            self._ledger.settle(call_id, end)
        finally:
            with self._purse:
                self._n_sent.subtract(purse.path for purse in call.within)
                self._purse.notify_all()

    def _provider(self, model: str) -> ModelProvider:
        with self._lock:
            provider = self._providers.get(model)
            if provider is None:
                provider = self._providers[model] = self._provider_for(model)
        return provider


def price_of(model: str, prices: Mapping[str, Price]) -> Price:
    """The frozen price of a model.

    Raises:
        ModelUnknown: there is none, or it is $0 for a model that sends a bill.
    """
    price = prices.get(model)
    if price is None:
        raise ModelUnknown(
            f"model {model}", "no price", fix="give it a price, or declare it free, before it runs"
        )
    if price.paid and price.in_nanos_per_mtok == price.out_nanos_per_mtok == 0:
        raise ModelUnknown(
            f"model {model}", "priced at $0", expected="its list price", fix="give it a price"
        )
    return price


def _attributed(reply: ChatReply, price: Price) -> int:
    """What the reply costs.

    Raises:
        ProviderSilent: the usage report cannot be true, so what was billed is not known.
    """
    if reply.usage.total_tokens == 0:
        raise ProviderSilent(f"model {price.model}", "a reply without a count of its tokens")
    nanos = cost_nanos(reply.usage, price)
    if nanos == 0 and price.paid:
        raise ProviderSilent(f"model {price.model}", f"{reply.usage.total_tokens} tokens for $0")
    return nanos
