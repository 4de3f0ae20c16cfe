"""Has neither name nor description, and answers with text."""


class NamelessTool:
    name = ""
    description = ""

    async def execute(self, input):
        return "done"


async def mount(coordinator, config):
    await coordinator.mount("tools", NamelessTool(), name="nameless")
