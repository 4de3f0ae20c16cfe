"""Answers in its own words."""


async def talk(event, data):
    return "please go on"


async def mount(coordinator, config):
    coordinator.hooks.register("tool:pre", talk, name="talk")

    def cleanup():
        raise RuntimeError("not now")

    return cleanup
