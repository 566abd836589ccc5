"""Single flight: of several callers with one key, the first works and the others wait for it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Generic, TypeVar

T = TypeVar("T")


class SingleFlight(Generic[T]):
    """Keeps nothing: once the first caller is done, the key is free again. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._flights: dict[str, Future[T]] = {}

    def lead(self, key: str, work: Callable[[], T]) -> T | None:
        """The value of `work` where nobody else is at it; None after waiting for whoever is.

        Raises:
            BaseException: what `work` raised, to the first caller and to all who waited.
        """
        mine: Future[T] = Future()
        with self._lock:
            flight = self._flights.setdefault(key, mine)
        if flight is not mine:
            flight.result()
            return None
        return self._fly(key, mine, work)

    def _fly(self, key: str, mine: Future[T], work: Callable[[], T]) -> T:
        try:
            value = work()
        except BaseException as error:
            self._land(key)
            mine.set_exception(error)
            raise
        self._land(key)
        mine.set_result(value)
        return value

    def _land(self, key: str) -> None:
        with self._lock:
            del self._flights[key]
