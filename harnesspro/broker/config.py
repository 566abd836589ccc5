"""What a broker is told when it starts; it learns nothing else but over its two sockets."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from harnesspro.core.records import Price, Record


class BrokerConfig(Record):
    """Where it listens, what it may spend, what models cost."""

    run_dir: str
    trial_socket: str
    """Path of the socket trials reach, mode 0666; its folder is made 0711 where missing."""
    admin_socket: str
    """Path of the orchestrator's socket, mode 0600."""
    cap_nanos: Annotated[int, Field(ge=0)] | None
    """The run's cap; None = no cap."""
    improver_cap_nanos: Annotated[int, Field(ge=0)] | None = None
    """The most of it that thinking may take; None = only the run's cap binds it."""
    prices: dict[str, Price]
    """Frozen for the run; a model that is not here is not called."""
    call_timeout_s: Annotated[float, Field(gt=0)]
    """Total deadline of one call, all its tries together."""
    parent_pid: int
    """The broker leaves when this process is gone."""
    n_tries: Annotated[int, Field(ge=1)] = 3
    backoff_s: Annotated[float, Field(ge=0)] = 0.5
    """Longest pause before the second try; it doubles with every further one."""
