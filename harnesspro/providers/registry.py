"""Which provider serves a model, by the model's name alone."""

from __future__ import annotations

from collections.abc import Mapping

from harnesspro.core.ports import ModelProvider


def provider_for(model: str, *, server_urls: Mapping[str, str]) -> ModelProvider:
    """The provider of `model`; nothing is started and nothing is asked.

    `sim/NAME` is simulated; `local/NAME` is served on this machine, at the address `server_urls`
    gives under that same name; `verifier/URL` judges answers at that address; any other name is
    LiteLLM's (`openai/gpt-4o-mini`).
    """
    family = model.partition("/")[0]
    if family == "sim":
        from harnesspro.providers.sim import SimProvider

        return SimProvider()
    if family == "local":
        from harnesspro.providers.local import LocalProvider

        return LocalProvider(server_urls)
    if family == "verifier":
        from harnesspro.providers.verifier import VerifierProvider

        return VerifierProvider()
    from harnesspro.providers.litellm_provider import LiteLLMProvider

    return LiteLLMProvider()
