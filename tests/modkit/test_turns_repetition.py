"""A model that goes round in circles is noticed, and one that waits for something is left alone."""

from __future__ import annotations

from typing import Any

from amplifier_core.models import ToolResult
from amplifier_modkit.turns.calls import RequestedCall
from amplifier_modkit.turns.repetition import RepetitionWatch


def happening(name: str = "t", arguments: Any = None, output: Any = "same") -> tuple[RequestedCall, ToolResult]:
    """One call with its result."""
    return RequestedCall("id", name, arguments), ToolResult(output=output)


def test_the_same_call_with_the_same_result_leads_to_a_reminder_and_then_to_the_end() -> None:
    """Both come after the configured number of rounds, and the reminder says how often it was."""
    watch = RepetitionWatch(2, 4)
    assert [watch.note([happening()]) for _ in range(4)] == ["go on", "remind", "remind", "stop"]
    assert watch.reminder == (
        "You have made the same tool call 4 times in a row and got the same result each time. "
        "Do something else, or answer with what you know."
    )


def test_whatever_differs_begins_the_count_again() -> None:
    """Another name, other arguments or another result is progress; so is something else in between."""
    watch = RepetitionWatch(2, 0)
    rounds = [
        happening(),
        happening("other"),
        happening("other", {"n": 1}),
        happening("other", {"n": 2}),
        happening("other", {"n": 2}, "changed"),
        happening("other", {"n": 2}, "again"),
        happening(),
    ]
    assert [watch.note([each]) for each in rounds] == ["go on"] * 7
    assert watch.note([happening()]) == "remind"


def test_a_failure_is_another_result_than_a_success_of_the_same_words() -> None:
    """What was refused and is now allowed is no repetition."""
    watch = RepetitionWatch(2, 0)
    call = RequestedCall("id", "t", {})
    watch.note([(call, ToolResult(success=False, output="x"))])
    assert watch.note([(call, ToolResult(success=True, output="x"))]) == "go on"


def test_equal_calls_of_one_round_count_once() -> None:
    """Doing the same three times side by side is odd, but no circle."""
    watch = RepetitionWatch(2, 3)
    assert watch.note([happening()] * 5) == "go on"
    assert watch.note([happening(), happening("other")]) == "remind"
    assert watch.note([happening("third"), happening()]) == "stop"


def test_with_zero_nothing_is_ever_said() -> None:
    """Each of the two can be switched off by itself."""
    silent, only_stop = RepetitionWatch(0, 0), RepetitionWatch(0, 3)
    assert {silent.note([happening()]) for _ in range(50)} == {"go on"}
    assert [only_stop.note([happening()]) for _ in range(3)] == ["go on", "go on", "stop"]
    assert RepetitionWatch(1, 1).note([]) == "go on"


def test_another_image_is_another_result() -> None:
    """A screen that is looked at again and again may look the same in words."""
    watch, call = RepetitionWatch(2, 2), RequestedCall("id", "look", {})
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}
    other = {**image, "source": {**image["source"], "data": "BBBB"}}
    seen = [ToolResult(content=[each]) for each in (image, other, other)]
    assert [watch.note([(call, result)]) for result in seen] == ["go on", "go on", "stop"]


def test_an_output_that_changes_in_place_is_another_result() -> None:
    """A tool may give the same list each time, with more in it."""
    watch, log = RepetitionWatch(2, 2), [1]
    assert watch.note([happening(output=log)]) == "go on"
    log.append(2)
    assert [watch.note([happening(output=log)]) for _ in range(2)] == ["go on", "stop"]


def test_arguments_that_refuse_to_be_compared_count_as_different() -> None:
    """A provider may give any objects."""

    class Prickly:
        def __eq__(self, other: object) -> bool:
            raise TypeError("ambiguous")

        __hash__ = None  # pyright: ignore[reportAssignmentType]

    watch = RepetitionWatch(2, 2)
    assert [watch.note([happening(arguments=Prickly())]) for _ in range(3)] == ["go on"] * 3


def test_arguments_in_any_form_are_compared() -> None:
    """Broken text, lists and dicts with keys in another order are no obstacle."""
    for one, other in (('{"a', '{"a'), ([1], [1]), ({"a": 1, "b": 2}, {"b": 2, "a": 1}), (None, None)):
        watch = RepetitionWatch(2, 0)
        watch.note([happening(arguments=one)])
        assert watch.note([happening(arguments=other)]) == "remind"
