"""Callables that record how they were called: what the fakes of ``testing`` are made of, without ``unittest.mock``.

They keep the names of it that tests use most. Not kept: child mocks made on access, ``spec=``, ``wraps=``,
``mock_calls``, ``assert_has_calls``, ``assert_any_call``, ``await_args`` and the other ``assert_awaited_…``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from types import CoroutineType
from typing import Any, TypeGuard, cast

from amplifier_core._awaiting import settle

UNSET: Any = object()
"""Stands for an argument that was not given, where ``None`` is a value."""

Failure = BaseException | type[BaseException]
SideEffect = Failure | Callable[..., Any] | Iterable[Any]


def is_failure(item: object) -> TypeGuard[Failure]:
    """Whether ``item`` is to be raised: an exception, or a class of exceptions."""
    return isinstance(item, BaseException) or (isinstance(item, type) and issubclass(item, BaseException))


class Call(tuple[tuple[Any, ...], dict[str, Any]]):
    """The arguments of one call, as a pair; equals a plain pair and a ``unittest.mock.call``."""

    __slots__ = ()

    def __new__(cls, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call:
        return super().__new__(cls, (args, kwargs))

    @property
    def args(self) -> tuple[Any, ...]:
        """The positional arguments."""
        return self[0]

    @property
    def kwargs(self) -> dict[str, Any]:
        """The keyword arguments."""
        return self[1]

    def argument(self, position: int, name: str, default: Any = None) -> Any:
        """One argument, however it was passed."""
        return self.args[position] if len(self.args) > position else self.kwargs.get(name, default)

    def __eq__(self, other: object) -> bool:
        # Other kinds of tuple know better how they compare: those of unittest.mock have three parts.
        return super().__eq__(other) if type(other) in (Call, tuple) else NotImplemented

    # A tuple has its own idea of this one, too; an object's is the opposite of ``__eq__``.
    __ne__ = object.__ne__
    __hash__ = None  # pyright: ignore[reportAssignmentType] - keyword arguments are a dict

    def __repr__(self) -> str:
        told = [*map(repr, self.args), *(f"{name}={value!r}" for name, value in self.kwargs.items())]
        return f"({', '.join(told)})"


class Recording:
    """The calls of one function, what they are to answer, and what tests claim about them; lives with its fake.

    A call answers with ``side_effect`` (an exception to raise, a function to call, or an iterable of one answer or
    exception per call), else with ``return_value``, else with what ``behaviour`` gives. Arguments are kept as they are,
    not copied.
    """

    def __init__(
        self,
        behaviour: Callable[..., Any] | None = None,
        *,
        return_value: Any = UNSET,
        side_effect: SideEffect | None = None,
        name: str | None = None,
    ) -> None:
        # ``inspect.signature`` follows this name: a recording shows the parameters of what it stands for.
        self.__wrapped__ = behaviour or _do_nothing
        self.__name__ = name or getattr(behaviour, "__name__", "recording")
        self.call_args_list: list[Call] = []
        """Every call, in order."""
        self._return_value = return_value
        self.side_effect = side_effect

    @property
    def call_count(self) -> int:
        """How often it was called."""
        return len(self.call_args_list)

    @property
    def called(self) -> bool:
        """Whether it was called at all."""
        return bool(self.call_args_list)

    @property
    def call_args(self) -> Call | None:
        """The latest call; its ``args`` and ``kwargs``, also as a pair."""
        return self.call_args_list[-1] if self.call_args_list else None

    @property
    def return_value(self) -> Any:
        """What calls answer; ``None`` also while the behaviour decides."""
        return None if self._return_value is UNSET else self._return_value

    @return_value.setter
    def return_value(self, value: Any) -> None:
        self._return_value = value

    @property
    def side_effect(self) -> SideEffect | None:
        """What calls raise, call or take their answers from, before anything else; ``None`` takes it away."""
        return self._side_effect

    @side_effect.setter
    def side_effect(self, effect: SideEffect | None) -> None:
        if effect is None or is_failure(effect) or callable(effect):
            self._side_effect = effect
        elif isinstance(effect, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]
            self._side_effect = iter(effect)
        else:
            raise TypeError(
                f"side_effect of '{self.__name__}' must be an exception, a callable, an iterable of answers or None, "
                f"got {type(effect).__name__}; for one answer to every call set return_value"
            )

    def reset_mock(self) -> None:
        """Forgets the calls; what calls answer stays."""
        self.call_args_list.clear()

    def assert_called(self) -> None:
        """Fails unless it was called."""
        self._claim(self.called, "should have been called")

    def assert_not_called(self) -> None:
        """Fails if it was called."""
        self._claim(not self.called, "should not have been called")

    def assert_called_once(self) -> None:
        """Fails unless it was called exactly once."""
        self._claim(self.call_count == 1, "should have been called once")

    def assert_called_with(self, *args: Any, **kwargs: Any) -> None:
        """Fails unless the latest call had these arguments, passed the same way."""
        self._claim(self.call_args == (args, kwargs), f"should have been called last with {Call(args, kwargs)}")

    def assert_called_once_with(self, *args: Any, **kwargs: Any) -> None:
        """Fails unless there was one call, and it had these arguments."""
        self._claim(self.call_args_list == [(args, kwargs)], f"should have been called once with {Call(args, kwargs)}")

    def __repr__(self) -> str:
        return f"<{type(self).__name__} '{self.__name__}', {_times(self.call_count)}>"

    def _claim(self, holds: bool, claim: str) -> None:
        if not holds:
            calls = f": {self.call_args_list}" if self.call_args_list else ""
            raise AssertionError(f"'{self.__name__}' {claim}, was called {_times(self.call_count)}{calls}")

    def _answer(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        effect = self._side_effect
        if effect is None:
            return self.__wrapped__(*args, **kwargs) if self._return_value is UNSET else self._return_value
        if not is_failure(effect) and callable(effect):
            return effect(*args, **kwargs)
        outcome = effect if is_failure(effect) else self._next_outcome(cast("Iterator[Any]", effect))
        if is_failure(outcome):
            raise outcome
        return outcome

    def _next_outcome(self, outcomes: Iterator[Any]) -> Any:
        for outcome in outcomes:
            return outcome
        raise AssertionError(
            f"'{self.__name__}' has no answer left in its side_effect for call {self.call_count}; give it more"
        )


class RecordingFunction(Recording):
    """A recording that is called like a plain function."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Records the call and answers it."""
        self.call_args_list.append(Call(args, kwargs))
        return self._answer(args, kwargs)


class RecordingCallable(Recording):
    """A recording that is called like an ``async def``: the call is recorded at once and answered when awaited."""

    await_count = 0
    """How often a call was awaited."""

    def __call__(self, *args: Any, **kwargs: Any) -> CoroutineType[Any, Any, Any]:
        """Records the call; awaiting what it returns answers it."""
        self.call_args_list.append(Call(args, kwargs))
        return self._await_answer(args, kwargs)

    def reset_mock(self) -> None:
        """Forgets calls and awaits; what calls answer stays."""
        super().reset_mock()
        self.await_count = 0

    def assert_awaited_once(self) -> None:
        """Fails unless a call was awaited exactly once."""
        self._claim(self.await_count == 1, f"should have been awaited once, not {_times(self.await_count)}")

    async def _await_answer(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        self.await_count += 1
        return await settle(self._answer(args, kwargs))

    # With these ``inspect`` takes an instance for a coroutine function, on every version of Python.
    __code__ = _await_answer.__code__
    __defaults__ = None
    __kwdefaults__ = None


def _do_nothing(*args: Any, **kwargs: Any) -> None:
    """What a recording does that was told nothing else."""


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"
