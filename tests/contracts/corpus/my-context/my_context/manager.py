from typing import Any


class MyContextManager:
    def __init__(self, max_tokens: int, compaction_threshold: float = 0.8):
        self._messages: list[dict[str, Any]] = []
        self._max_tokens = max_tokens
        self._compaction_threshold = compaction_threshold

    async def add_message(self, message: dict[str, Any]) -> None:
        if "role" not in message:
            raise ValueError("Message must have 'role' field")
        self._messages.append(message)

    async def get_messages_for_request(self, token_budget=None, provider=None):
        budget = self._calculate_budget(token_budget, provider)
        messages = list(self._messages)
        token_count = self._count_tokens(messages)
        if not self._should_compact(token_count, budget):
            return messages
        return self._compact_messages(messages, budget)

    async def get_messages(self):
        return list(self._messages)

    async def set_messages(self, messages: list[dict[str, Any]]) -> None:
        self._messages = list(messages)

    async def clear(self) -> None:
        self._messages = []

    def _calculate_budget(self, token_budget, provider) -> int:
        if token_budget is not None:
            return token_budget
        if provider is not None:
            try:
                defaults = provider.get_info().defaults or {}
                window, output = defaults.get("context_window"), defaults.get("max_output_tokens")
                if window and output:
                    return max(window - output - 100, 100)
            except Exception:
                pass
        return self._max_tokens

    def _count_tokens(self, messages) -> int:
        return sum(len(str(message)) // 4 for message in messages)

    def _should_compact(self, token_count: int, budget: int) -> bool:
        return token_count > budget * self._compaction_threshold

    def _compact_messages(self, messages, budget):
        keep_from = max(0, len(messages) - 10)
        while keep_from > 0 and messages[keep_from].get("role") == "tool":
            keep_from -= 1
        return messages[keep_from:]
