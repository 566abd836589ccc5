"""Asks a provider as patiently as `core.patience` says, and knows which models answer nobody."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from harnesspro.core.errors import ModelUnknown, ProviderBusy, ProviderSilent, RequestRefused
from harnesspro.core.patience import Breaker, RetryBudget, pause_s
from harnesspro.core.ports import ChatReply, ChatRequest, ModelProvider


@dataclass(slots=True)
class Patience:
    """Thread-safe. Clock, sleep and chance can be given for tests."""

    n_tries: int
    backoff_s: float
    call_timeout_s: float
    """Total deadline of one call, all its tries together."""
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], object] = time.sleep
    chance: Callable[[], float] = field(default_factory=lambda: random.SystemRandom().random)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _breakers: dict[str, Breaker] = field(default_factory=dict)
    _budgets: dict[str, RetryBudget] = field(default_factory=dict)

    def require(self, model: str) -> None:
        """Return where a model may be asked; where it rests, only once its rest is over, to one caller.

        Raises:
            ProviderBusy: it answers nobody; says for how long it has not.
        """
        with self._lock:
            breaker, now = self._breakers.get(model, Breaker()), self.clock()
            if not breaker.is_open(now):
                self._breakers[model] = breaker.finding_out(now)
                return
            silent_s = now - (breaker.since or now)
        raise ProviderBusy(
            model,
            f"no answer for {silent_s:.0f} s ({breaker.n_faults} faults in a row)",
            expected="a provider that answers",
            fix="nothing: the run waits and goes on by itself",
        )

    def complete(self, provider: ModelProvider, request: ChatRequest) -> ChatReply:
        """The reply, after as many tries as passing faults, the budget and the deadline allow.

        Raises:
            ProviderError, ModelUnknown: of the last try. A refused key rests nobody: waiting does not
                mend it.
        """
        model, deadline = request.model, self.clock() + self.call_timeout_s
        self._asked(model)
        for n_tried in range(1, self.n_tries + 1):
            try:
                reply = provider.complete(request, timeout_s=deadline - self.clock())
            except ProviderBusy as error:
                pause = self._pause(n_tried, model, error, left_s=deadline - self.clock())
                if pause is None:
                    self._failed(model)
                    raise
                self.sleep(pause)
            except (RequestRefused, ModelUnknown):
                self._answered(model)
                raise
            except ProviderSilent:
                self._failed(model)
                raise
            else:
                self._answered(model)
                return reply
        raise AssertionError("the last try returns or raises")

    def _pause(
        self, n_tried: int, model: str, error: ProviderBusy, *, left_s: float
    ) -> float | None:
        """Seconds until the next try, its retry taken from the budget; None where this was the last."""
        pause = pause_s(
            n_tried,
            backoff_s=self.backoff_s,
            told_s=error.retry_after_s,
            level=self.chance(),
            left_s=left_s,
        )
        if n_tried == self.n_tries or pause is None:
            return None
        with self._lock:
            budget = self._budgets[_family(model)].spent()
            if budget is not None:
                self._budgets[_family(model)] = budget
        return None if budget is None else pause

    def _asked(self, model: str) -> None:
        with self._lock:
            family = _family(model)
            self._budgets[family] = self._budgets.get(family, RetryBudget()).asked()

    def _failed(self, model: str) -> None:
        with self._lock:
            breaker = self._breakers.get(model, Breaker())
            self._breakers[model] = breaker.failed(self.clock())

    def _answered(self, model: str) -> None:
        with self._lock:
            self._breakers[model] = self._breakers.get(model, Breaker()).answered()


def _family(model: str) -> str:
    """Whose budget of retries a model draws on: its provider's."""
    return model.partition("/")[0]
