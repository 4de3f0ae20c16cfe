"""Fills ``{{…}}`` in the texts of a script with what the conversation says.

``{{prompt}}``, ``{{last_tool_result}}``, ``{{tool.path}}`` into the last result, ``{{result.id}}`` and
``{{result.id.path}}`` into that of a certain call. Two opening braces that are meant as such are written ``\\{{``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import cached_property
from typing import Any, cast

from amplifier_core.message_models import ChatRequest
from amplifier_core.utils.jsonable import to_jsonable
from amplifier_module_provider_mock.errors import ScriptError
from amplifier_module_provider_mock.requests import prompt_in, results_in

_TEMPLATE = re.compile(r"\\\{\{|\{\{([^{}]*)\}\}")
_DATA = re.compile(r"^[\[{]", re.MULTILINE)
_KNOWN = "{{prompt}}, {{last_tool_result}}, {{tool.PATH}}, {{result.CALL_ID}}, {{result.CALL_ID.PATH}}"


class Templates:
    """The values that the templates of one answer have; lives as long as the call that is answered.

    Whatever cannot be filled is a ``ScriptError`` that names ``place``, the template, and what there is instead.
    """

    def __init__(self, request: ChatRequest, place: str) -> None:
        self._request = request
        self._place = place

    def fill_value(self, value: Any) -> Any:
        """``value`` with all its texts filled, at any depth; one that is a single template takes the value itself."""
        return _with_texts(value, self._fill_or_replace)

    def fill_texts(self, value: Any) -> Any:
        """``value`` with all its texts filled, at any depth, and texts they stay."""
        return _with_texts(value, self.fill_text)

    def fill_text(self, text: str) -> str:
        """``text`` filled; values that are no text are told as JSON."""
        return _TEMPLATE.sub(lambda found: "{{" if found[1] is None else _to_text(self._value_of(found[1])), text)

    def _fill_or_replace(self, text: str) -> Any:
        whole = _TEMPLATE.fullmatch(text)
        return self.fill_text(text) if whole is None or whole[1] is None else self._value_of(whole[1])

    @cached_property
    def _results(self) -> dict[str, str]:
        return results_in(self._request)

    def _value_of(self, template: str) -> Any:
        source, *path = template.strip().split(".")
        if source == "prompt" and not path:
            return self._require(prompt_in(self._request), template, "the request has no text of a user")
        if source == "last_tool_result" and not path:
            return self._last_result(template)
        if source == "tool" and path:
            return self._follow(self._last_result(template), path, template)
        if source == "result" and path:
            return self._follow(self._result_of(path[0], template), path[1:], template)
        raise self._error(template, f"there is no such template; known are {_KNOWN}; write \\{{{{ for the braces alone")

    def _last_result(self, template: str) -> str:
        return self._require(next(reversed(self._results.values()), None), template, "no tool has answered yet")

    def _result_of(self, call_id: str, template: str) -> str:
        answered = ", ".join(self._results) or "none"
        return self._require(
            self._results.get(call_id), template, f"call '{call_id}' has no result; those that have one: {answered}"
        )

    def _follow(self, result: str, path: list[str], template: str) -> Any:
        if not path:
            return result
        value = _data_in(result)
        if value is None:
            raise self._error(template, f"the result is no JSON object or list: {result[:200]!r}")
        for step in path:
            value = self._step_into(value, step, template)
        return value

    def _step_into(self, value: Any, step: str, template: str) -> Any:
        if isinstance(value, dict) and step in value:
            return cast("dict[str, Any]", value)[step]
        if isinstance(value, list) and step.isdecimal() and int(step) < len(cast("list[Any]", value)):
            return cast("list[Any]", value)[int(step)]
        raise self._error(template, f"there is no '{step}' in {json.dumps(value)[:200]}")

    def _require(self, value: str | None, template: str, complaint: str) -> str:
        if value is None:
            raise self._error(template, complaint)
        return value

    def _error(self, template: str, complaint: str) -> ScriptError:
        return ScriptError(f"{self._place} has {{{{{template}}}}}, which cannot be filled: {complaint}")


def _with_texts(value: Any, fill: Callable[[str], Any]) -> Any:
    if isinstance(value, str):
        return fill(value)
    if isinstance(value, dict):
        return {key: _with_texts(item, fill) for key, item in cast("dict[str, Any]", value).items()}
    if isinstance(value, list):
        return [_with_texts(item, fill) for item in cast("list[Any]", value)]
    return value


def _data_in(text: str) -> Any:
    """The first object or list that begins a line of ``text``; loops and hooks may put words before and after it."""
    for beginning in _DATA.finditer(text):
        try:
            return json.JSONDecoder().raw_decode(text, beginning.start())[0]
        except ValueError:
            continue
    return None


def _to_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(to_jsonable(value), ensure_ascii=False)
