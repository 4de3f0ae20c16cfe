"""The settings of a memory: config keys, their limits, and the policy made from them."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from amplifier_modkit.memory.policy import CompactionPolicy, ContextConfig


def test_the_defaults_of_config_and_policy_agree() -> None:
    """A policy made by hand is the policy of an empty config."""
    assert ContextConfig.read(None).policy() == CompactionPolicy()


def test_every_key_reaches_the_policy() -> None:
    """Each setting has its effect."""
    config = {
        "max_tokens": 1,
        "compact_threshold": 0.8,
        "target_usage": 0.4,
        "protected_recent": 0.2,
        "protected_tool_results": 2,
        "truncate_chars": 3,
        "compaction_notice_enabled": False,
        "compaction_notice_token_reserve": 4,
        "compaction_notice_verbosity": "verbose",
        "compaction_notice_min_level": 5,
        "output_reserve_fraction": 0.6,
        "max_tool_result_bytes": 7,
        "token_meter": "estimate",
        "strategy": "summarize",
        "summary_max_tokens": 8,
        "auto_compact": False,
    }
    assert set(config) == set(ContextConfig.model_fields)
    assert ContextConfig.read(config).policy() == CompactionPolicy(
        max_tokens=1,
        caps_provider=True,
        threshold=0.8,
        target=0.4,
        protected_recent=0.2,
        protected_tool_results=2,
        truncate_chars=3,
        notice_enabled=False,
        notice_token_reserve=4,
        notice_verbosity="verbose",
        notice_min_level=5,
        output_reserve_fraction=0.6,
        max_tool_result_bytes=7,
        calibrates=False,
        summarizes=True,
        summary_max_tokens=8,
        auto_compact=False,
    )


def test_the_threshold_has_two_names() -> None:
    """``compaction_threshold`` is read as well, and unknown keys are left to the kernel."""
    policy = ContextConfig.read({"compaction_threshold": 0.7, "unknown": 1}).policy()
    assert (policy.threshold, policy.target) == (0.7, pytest.approx(0.42))


def test_a_low_threshold_pulls_the_target_down() -> None:
    """Where only the threshold is set, compaction still frees a good part."""
    assert ContextConfig.read({"compact_threshold": 0.5}).policy().target == pytest.approx(0.3)


@pytest.mark.parametrize(
    ("config", "told"),
    [
        ({"target_usage": 0.95}, "target_usage must be below compact_threshold"),
        ({"target_usage": 0.5, "compact_threshold": 0.5}, "target_usage must be below compact_threshold"),
        ({"max_tokens": 0}, "greater than 0"),
        ({"strategy": "forget"}, "'truncate' or 'summarize'"),
    ],
)
def test_values_that_make_no_sense_are_refused(config: dict[str, Any], told: str) -> None:
    """The error tells what was expected."""
    with pytest.raises(ValidationError, match=told):
        ContextConfig.read(config)


def test_unknown_keys_are_an_error_of_the_model() -> None:
    """The kernel learns from the model which keys nobody reads."""
    with pytest.raises(ValidationError, match="Extra inputs are not permitted"):
        ContextConfig.model_validate({"max_token": 1})
