from pydantic import BaseModel, Field


class ShelfSettings(BaseModel):
    capacity: int = Field(default=10, ge=1)
