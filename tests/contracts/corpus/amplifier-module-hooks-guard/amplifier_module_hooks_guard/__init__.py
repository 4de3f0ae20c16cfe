"""Refuses tools by name."""


class Guard:
    def __init__(self, denied):
        self.denied = set(denied)

    async def __call__(self, event, data):
        if data.get("tool_name") in self.denied:
            return {"action": "deny", "reason": f"{data['tool_name']} is not allowed here"}
        return None


async def mount(coordinator, config):
    guard = Guard(config.get("denied", []))
    coordinator.register_cleanup(coordinator.hooks.on("tool:pre", guard, 5, "guard"))
