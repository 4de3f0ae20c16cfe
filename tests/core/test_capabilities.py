"""Names of well-known model capabilities."""

from __future__ import annotations

from amplifier_core import capabilities

IN_ORDER = {
    "TOOLS": "tools",
    "STREAMING": "streaming",
    "THINKING": "thinking",
    "VISION": "vision",
    "JSON_MODE": "json_mode",
    "FAST": "fast",
    "CODE_EXECUTION": "code_execution",
    "WEB_SEARCH": "web_search",
    "DEEP_RESEARCH": "deep_research",
    "LOCAL": "local",
    "AUDIO": "audio",
    "IMAGE_GENERATION": "image_generation",
    "COMPUTER_USE": "computer_use",
    "EMBEDDINGS": "embeddings",
    "LONG_CONTEXT": "long_context",
    "BATCH": "batch",
}


def test_list_holds_all_values_in_declaration_order() -> None:
    """The list names the 16 capabilities in the order in which they are declared."""
    assert type(capabilities.ALL_WELL_KNOWN_CAPABILITIES) is list
    assert list(IN_ORDER.values()) == capabilities.ALL_WELL_KNOWN_CAPABILITIES


def test_module_has_exactly_these_constants() -> None:
    """Constants and values agree, and __all__ lists them and the list."""
    constants = {name: value for name, value in vars(capabilities).items() if name.isupper()}
    assert constants == {**IN_ORDER, "ALL_WELL_KNOWN_CAPABILITIES": capabilities.ALL_WELL_KNOWN_CAPABILITIES}
    assert sorted(capabilities.__all__) == sorted(constants)
