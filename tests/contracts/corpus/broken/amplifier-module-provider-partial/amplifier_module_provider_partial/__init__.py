"""Lacks a method, and mistakes types in the others."""


class PartialProvider:
    name = "partial"

    def get_info(self):
        return {"id": "partial"}

    async def list_models(self):
        return ["model-a"]

    async def complete(self, request, **kwargs):
        raise NotImplementedError


async def mount(coordinator, config):
    await coordinator.mount("providers", PartialProvider())
