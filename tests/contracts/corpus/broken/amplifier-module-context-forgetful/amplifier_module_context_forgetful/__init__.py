"""Keeps only the latest message, and cannot let go of it."""


class ForgetfulContext:
    latest = None

    async def add_message(self, message):
        self.latest = {**message, "role": message.get("role").lower()}

    async def get_messages_for_request(self, token_budget=None, provider=None):
        return self.latest and [self.latest]

    async def get_messages(self):
        return self.latest and [self.latest]

    async def set_messages(self, messages):
        self.latest = messages[-1]

    async def clear(self):
        pass

    def _should_compact(self):
        return "never"

    async def _compact_internal(self):
        return len(None)  # pyright: ignore[reportArgumentType]


async def mount(coordinator, config):
    await coordinator.mount("context", ForgetfulContext())
