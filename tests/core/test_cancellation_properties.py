"""Laws of cancellation: over any requests and any family of tokens, a table of states agrees with them."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, rule

from amplifier_core.cancellation import CancellationToken

STRENGTH = {"none": 0, "graceful": 1, "immediate": 2}


class TokenFamily(RuleBasedStateMachine):
    """Tokens beside a model: a state, running tools and a set of children for each."""

    tokens = Bundle("tokens")

    def __init__(self) -> None:
        super().__init__()
        self.all: list[CancellationToken] = []
        self.states: list[str] = []
        self.tools: list[dict[str, str]] = []
        self.children: list[set[int]] = []

    @rule(target=tokens)
    def make(self) -> int:
        """A new token, known by its number."""
        self.all.append(CancellationToken())
        self.states.append("none")
        self.tools.append({})
        self.children.append(set())
        return len(self.all) - 1

    def _raise_to(self, token: int, state: str) -> bool:
        if STRENGTH[self.states[token]] >= STRENGTH[state]:
            return False
        self.states[token] = state
        for child in self.children[token]:
            self._raise_to(child, state)
        return True

    @rule(token=tokens)
    def request_graceful(self, token: int) -> None:
        """Changes a fresh token and those below it."""
        assert self.all[token].request_graceful() is self._raise_to(token, "graceful")

    @rule(token=tokens)
    def request_immediate(self, token: int) -> None:
        """Changes all but one that is immediate already."""
        assert self.all[token].request_immediate() is self._raise_to(token, "immediate")

    @rule(token=tokens)
    def request_cancellation(self, token: int) -> None:
        """Is graceful, and silent."""
        assert self.all[token].request_cancellation() is None
        self._raise_to(token, "graceful")

    @rule(token=tokens)
    def reset(self, token: int) -> None:
        """Forgets state and tools of this token alone."""
        self.all[token].reset()
        self.states[token] = "none"
        self.tools[token].clear()

    @rule(parent=tokens, child=tokens)
    def register_child(self, parent: int, child: int) -> None:
        """Passes on what was asked before; circles are allowed."""
        self.all[parent].register_child(self.all[child])
        self.children[parent].add(child)
        if self.states[parent] != "none":
            self._raise_to(child, self.states[parent])

    @rule(parent=tokens, child=tokens)
    def unregister_child(self, parent: int, child: int) -> None:
        """Cuts the link and changes no state."""
        self.all[parent].unregister_child(self.all[child])
        self.children[parent].discard(child)

    @rule(token=tokens, call=st.sampled_from("123"), name=st.sampled_from(["bash", "web"]))
    def start_tool(self, token: int, call: str, name: str) -> None:
        """Notes a call; the same id again replaces it."""
        self.all[token].register_tool_start(call, name)
        self.tools[token][call] = name

    @rule(token=tokens, call=st.sampled_from("123"))
    def complete_tool(self, token: int, call: str) -> None:
        """Forgets a call, known or not."""
        self.all[token].register_tool_complete(call)
        self.tools[token].pop(call, None)

    @invariant()
    def model_and_tokens_agree(self) -> None:
        """On states, flags and running tools."""
        for token, state, tools in zip(self.all, self.states, self.tools, strict=True):
            assert token.state == state
            flags = (token.is_cancelled, token.is_graceful, token.is_immediate)
            assert flags == (state != "none", state == "graceful", state == "immediate")
            assert token.running_tools == set(tools)
            assert sorted(token.running_tool_names) == sorted(tools.values())


TestTokenFamily = pytest.mark.slow(TokenFamily.TestCase)
