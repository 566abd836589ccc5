"""What answers that are JSON are held to, and the probes made for them."""

from __future__ import annotations

from harnesspro.checks.call_words import (
    in_their_places,
    names_its_function,
    takes_the_option_told,
    uses_the_numbers,
)
from harnesspro.checks.json_answers import fits_schema, grounded
from harnesspro.checks.json_probes import (
    amid_others,
    corrected,
    impossible,
    in_a_message,
    mutants,
    rendered,
)
from harnesspro.checks.kind import CheckKind

KIND = CheckKind(
    kind="json",
    tests={
        "fits_schema": ("format", fits_schema),
        "grounded": ("property", grounded),
        "names_its_function": ("property:function", names_its_function),
        "uses_the_numbers": ("property:numbers", uses_the_numbers),
        "takes_the_option_told": ("property:options", takes_the_option_told),
        "in_their_places": ("metamorphic", in_their_places),
    },
    empty={},
    makers={
        "amid_others": amid_others,
        "corrected": corrected,
        "in_a_message": in_a_message,
        "rendered_call": rendered,
    },
    mutants=mutants,
    impossible=impossible,
    gives_in=fits_schema,
)
