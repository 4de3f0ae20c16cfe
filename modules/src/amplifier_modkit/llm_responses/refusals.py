"""What the service means by refusals of its own kind, among them two that a request without its memory gets past."""

from __future__ import annotations

import re

from amplifier_core.llm_errors import ContentFilterError, InvalidRequestError, LLMError
from amplifier_modkit.llm.errors import Refusal

_NO_CHAIN = re.compile(r"previous[_ ]response", re.IGNORECASE)
_NO_REASONING = re.compile(
    r"encrypted[_ ]content|of type '\w+' was provided without its required|items are not persisted", re.IGNORECASE
)
_POLICY = re.compile(r"content_filter|content_policy|_policy_violation|bio_policy|invalid_prompt", re.IGNORECASE)
_CLIENT_ERRORS = (None, 400, 404, 422)


class LostChainError(InvalidRequestError):
    """The service does not have the answer that a request goes on from."""


class LostReasoningError(InvalidRequestError):
    """The service cannot read the reasoning it gave, or misses the items that belong to it."""


def judge(refusal: Refusal) -> type[LLMError] | None:
    """The class for a refusal that only this API has; ``None`` for the others."""
    if refusal.status not in _CLIENT_ERRORS:
        return None
    told = f"{refusal.code or ''} {refusal.message}"
    if _NO_CHAIN.search(told):
        return LostChainError
    if _NO_REASONING.search(told):
        return LostReasoningError
    return ContentFilterError if _POLICY.search(refusal.code or "") else None
