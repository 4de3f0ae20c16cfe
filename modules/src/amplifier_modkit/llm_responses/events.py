"""Names of the events that providers of the Responses API emit beside those of every provider."""

from __future__ import annotations

PROVIDER_INCOMPLETE_CONTINUATION = "provider:incomplete_continuation"
PROVIDER_RESPONSE_CHAIN_INVALIDATED = "provider:response_chain_invalidated"
PROVIDER_BACKGROUND_STATUS = "provider:background_status"

RESPONSES_EVENTS = (
    PROVIDER_INCOMPLETE_CONTINUATION,
    PROVIDER_RESPONSE_CHAIN_INVALIDATED,
    PROVIDER_BACKGROUND_STATUS,
)
