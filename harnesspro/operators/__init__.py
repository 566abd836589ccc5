"""Harness + finding -> patch, without a model; one operator a file, all pure.

To add one: a file with an `OPERATOR`, and its name in the list here. The order is the order in
which the operators that one finding justifies are tried: exact savings before bold ones.
"""

from __future__ import annotations

from collections.abc import Mapping

from harnesspro.operators import (
    add_format_reminder,
    answer_only,
    ask_for_less,
    cap_output,
    cap_retries,
    constrain_output,
    drop_all_unused_text,
    drop_unused_text,
    fewer_samples,
    lean_call,
    raise_cap,
    stop_when_agreed,
)
from harnesspro.operators.operator import Operator
from harnesspro.operators.stop_when_agreed import KEEPING_KNOBS

__all__ = ["KEEPING_KNOBS", "OPERATORS", "Operator"]

OPERATORS: Mapping[str, Operator] = {
    module.OPERATOR.name: module.OPERATOR
    for module in (
        stop_when_agreed,
        lean_call,
        fewer_samples,
        constrain_output,
        answer_only,
        ask_for_less,
        drop_all_unused_text,
        drop_unused_text,
        cap_retries,
        raise_cap,
        cap_output,
        add_format_reminder,
    )
}
