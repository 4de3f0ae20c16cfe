"""One question, one answer. Follows the orchestrator contract to the letter."""

from amplifier_core import ChatRequest, Message


class FiveParameterLoop:
    def __init__(self, config):
        self.config = config

    async def execute(self, prompt, context, providers, tools, hooks) -> str:
        await context.add_message({"role": "user", "content": prompt})

        provider_name = self.config.get("default_provider", list(providers.keys())[0])
        provider = providers[provider_name]
        messages = await context.get_messages_for_request()

        await hooks.emit("provider:request", {"provider": provider_name, "messages": messages, "model": "any"})
        response = await provider.complete(ChatRequest(messages=[Message(**m) for m in messages]))
        await hooks.emit(
            "provider:response", {"provider": provider_name, "response": response, "usage": response.usage}
        )

        text = "".join(block.text for block in response.content if block.type == "text")
        await context.add_message({"role": "assistant", "content": text})
        return text


async def mount(coordinator, config):
    orchestrator = FiveParameterLoop(config=config)
    await coordinator.mount("session", orchestrator, name="orchestrator")
    return orchestrator
