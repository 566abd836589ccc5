"""Trajectories -> findings priced in dollars; one detector a file, all pure.

To add one: a file with `detect(harness, trajectories) -> tuple[Finding, ...]`, and a line here.
"""

from __future__ import annotations

from collections.abc import Mapping

from harnesspro.core.findings import Detector
from harnesspro.detectors import (
    form_loss,
    limit_hits,
    long_input,
    oversized_cap,
    repeated_calls,
    retry_waste,
    samples_agree,
    unused_text,
    verbose_output,
)

DETECTORS: Mapping[str, Detector] = {
    "form_loss": form_loss.detect,
    "limit_hits": limit_hits.detect,
    "long_input": long_input.detect,
    "oversized_cap": oversized_cap.detect,
    "repeated_calls": repeated_calls.detect,
    "retry_waste": retry_waste.detect,
    "samples_agree": samples_agree.detect,
    "unused_text": unused_text.detect,
    "verbose_output": verbose_output.detect,
}
