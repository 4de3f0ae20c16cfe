"""An awaitable for work that is already done: may be awaited, scheduled or simply dropped."""

from __future__ import annotations

from collections.abc import Coroutine, Generator
from typing import Any, NoReturn


class Done(Coroutine[Any, Any, None]):
    """The answer of a method that takes effect when it is called and can still be awaited.

    An ``async def`` would do nothing until awaited and warn when it never is; this does neither, and works wherever
    asyncio takes a coroutine (``create_task``, ``gather``, ``wait_for``, ``run``).
    """

    __slots__ = ()

    def send(self, value: Any, /) -> NoReturn:
        """Ends at once."""
        raise StopIteration

    def throw(self, typ: Any, val: Any = None, tb: Any = None, /) -> NoReturn:
        """Raises what is thrown in, as a coroutine that has not begun does."""
        if isinstance(typ, BaseException):
            raise typ
        raise val if isinstance(val, BaseException) else typ(*(() if val is None else (val,)))

    def close(self) -> None:
        """Has nothing to close."""

    def __await__(self) -> Generator[Any, Any, None]:
        return
        yield  # pragma: no cover - makes this a generator; never reached
