"""`sim/NAME`: simulated models behind the same port as real ones; none of them is a model.

Every reply is a function of the request and its seed; nothing sleeps. Laws: workers' in
`sim_worker`, judges' and panels' in `sim_judges`, the planner's in `sim_planner`, of a brain that
obeys what it reads in `sim_gullible`; `sim/echo` just answers; tasks come from `draw_tasks`. Tokens are ceil(characters / 4), four more a message;
latency = (0.2 + in / 2000 + out / 50) exp(0.4 z) seconds, z standard normal by the draw; reported, not
waited.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping

from harnesspro.core.errors import ModelUnknown
from harnesspro.core.hashing import content_hash
from harnesspro.core.ports import ChatReply, ChatRequest
from harnesspro.core.records import Price, Usage
from harnesspro.providers import sim_gullible, sim_judges, sim_planner, sim_worker
from harnesspro.providers.sim_request import content_text, question_in
from harnesspro.providers.sim_tasks import draw_tasks, true_option

__all__ = ["MODELS", "SimProvider", "draw_tasks", "true_option"]

MODELS: Mapping[str, tuple[float, float]] = {
    **dict.fromkeys(sim_worker.MINDS, (0.10, 0.40)),
    **dict.fromkeys(sim_judges.JUDGES, (0.25, 1.00)),
    "sim/planner": (1.00, 4.00),
    "sim/gullible": (1.00, 4.00),
    "sim/echo": (0.01, 0.01),
}
"""Name -> dollars for a million tokens in, out."""
LATENCY_SD = 0.4


class SimProvider:
    """A `core.ports.ModelProvider`; stateless, so safe from any thread."""

    def complete(self, request: ChatRequest, *, timeout_s: float) -> ChatReply:
        """The reply the law gives; `timeout_s` is met by answering at once."""
        self.check(request.model)
        salt = _salt(request)
        text, reason = _cut(_whole_reply(request, salt), request)
        usage = Usage(uncached_in_tokens=prompt_tokens(request), out_tokens=n_tokens(text))
        return ChatReply(
            text=text,
            finish_reason=reason,
            usage=usage,
            model=request.model,
            latency_s=_latency_s(usage, salt),
        )

    def price(self, model: str) -> Price | None:
        """The simulator's own list; nothing of it is ever cached, so a cache read costs the same."""
        if model not in MODELS:
            return None
        dollars_in, dollars_out = MODELS[model]
        in_nanos = round(dollars_in * 1e9)
        return Price(
            model=model,
            in_nanos_per_mtok=in_nanos,
            out_nanos_per_mtok=round(dollars_out * 1e9),
            cache_read_nanos_per_mtok=in_nanos,
            cache_write_nanos_per_mtok=in_nanos,
            source="simulator",
        )

    def check(self, model: str) -> None:
        """Return where the simulator plays this model."""
        if model not in MODELS:
            raise ModelUnknown(
                model, "the simulator plays no such model", expected=", ".join(sorted(MODELS))
            )


def n_tokens(text: str) -> int:
    """Tokens of a text."""
    return -(-len(text) // 4)


def prompt_tokens(request: ChatRequest) -> int:
    """Tokens of messages and offered tools."""
    messages = sum(4 + n_tokens(content_text(m)) for m in request.messages)
    return messages + (n_tokens(json.dumps(request.tools)) if request.tools else 0)


def _salt(request: ChatRequest) -> str:
    """A draw's own randomness; at temperature 0 workers and judges draw nothing by the seed."""
    calm = request.temperature == 0 and request.model not in ("sim/planner", "sim/gullible")
    return content_hash(request.model_dump(mode="json", exclude={"seed"} if calm else set()))


def _latency_s(usage: Usage, salt: str) -> float:
    factor = math.exp(LATENCY_SD * sim_worker.normal("latency", salt))
    return round((0.2 + usage.in_tokens / 2000 + usage.out_tokens / 50) * factor, 6)


def _whole_reply(request: ChatRequest, salt: str) -> str:
    asked = _last_user_text(request)
    if request.model == "sim/echo":
        return asked
    if request.model == "sim/planner":
        return sim_planner.reply_text(asked, salt)
    if request.model == "sim/gullible":
        return _obeyed(request, asked, salt)
    for form in ("answers", "answer_kind"):
        question = question_in(asked, "task", form)
        if question is not None:
            return sim_judges.opinion(request, question, salt=salt)
    if request.model in sim_judges.JUDGES:
        return "I see no answers to judge here."
    return sim_worker.reply_text(request, salt)


def _obeyed(request: ChatRequest, asked: str, salt: str) -> str:
    said = sim_gullible.reply_text(asked)
    if said is not None:
        return said
    question = question_in(asked, "task", "answers") or {}
    answers = question.get("answers")
    if not isinstance(answers, list):
        return sim_judges.NO_CASE
    judge = request.model_copy(update={"model": "sim/judge"})
    scores = json.loads(sim_judges.opinion(judge, question, salt=salt))["scores"]
    fooled = (
        1.0 if sim_gullible.talked_into(a) else s for a, s in zip(answers, scores, strict=True)
    )
    return json.dumps({"scores": list(fooled)})


def _last_user_text(request: ChatRequest) -> str:
    for message in reversed(request.messages):
        if message.get("role") == "user":
            return content_text(message)
    return ""


def _cut(text: str, request: ChatRequest) -> tuple[str, str]:
    """The text up to the first stop sequence and the token limit, and why it ended."""
    for stop in request.stop or ():
        text = text.split(stop, 1)[0] if stop else text
    if n_tokens(text) > request.max_output_tokens:
        return text[: request.max_output_tokens * 4], "length"
    return text, "stop"
