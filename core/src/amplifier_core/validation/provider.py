"""What makes a provider module valid."""

from __future__ import annotations

from amplifier_core.validation._checks import AsyncMethod, CallableMember, GivesProviderInfo, Kind, NonEmptyText
from amplifier_core.validation._validator import ModuleValidator

PROVIDER = Kind(
    "provider",
    "Provider",
    "Provider",
    (
        NonEmptyText("provider_name", "name"),
        GivesProviderInfo("provider_get_info"),
        AsyncMethod("provider_list_models", "list_models"),
        AsyncMethod("provider_complete", "complete", ("request",)),
        CallableMember("provider_parse_tool_calls", "parse_tool_calls"),
    ),
)


class ProviderValidator(ModuleValidator):
    """Validates provider modules."""

    kind = PROVIDER
