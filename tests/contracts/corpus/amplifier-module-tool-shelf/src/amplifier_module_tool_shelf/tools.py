from amplifier_core.models import ToolResult


class Shelf:
    def __init__(self, capacity: int):
        self.capacity = capacity
        self.notes: list[str] = []
        self.is_open = True

    async def close(self) -> None:
        self.is_open = False


class _ShelfTool:
    input_schema = {"type": "object", "properties": {"note": {"type": "string"}}}

    def __init__(self, shelf: Shelf):
        self.shelf = shelf


class PutTool(_ShelfTool):
    name = "shelf_put"
    description = "Puts a note on the shelf."

    async def execute(self, input: dict) -> ToolResult:
        if not input.get("note"):
            return ToolResult(success=False, error={"message": "note is required"})
        if len(self.shelf.notes) >= self.shelf.capacity:
            return ToolResult(success=False, error={"message": "the shelf is full"})
        self.shelf.notes.append(input["note"])
        return ToolResult(output=f"{len(self.shelf.notes)} notes")


class TakeTool(_ShelfTool):
    name = "shelf_take"
    description = "Takes the latest note from the shelf."

    async def execute(self, input: dict) -> ToolResult:
        # Imported late, as people do to break a cycle.
        from .settings import ShelfSettings

        assert ShelfSettings
        return ToolResult(output=self.shelf.notes.pop() if self.shelf.notes else None)
