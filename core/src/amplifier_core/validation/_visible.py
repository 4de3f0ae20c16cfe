"""What ``mount()`` visibly puts into the coordinator, judged from the source: classes at mount points, hook handlers.

Only what the syntax decides is judged; everything else is told to be open.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from types import SimpleNamespace

from amplifier_core._discovery import TYPE_TO_MOUNT_POINT
from amplifier_core.interfaces import missing_members
from amplifier_core.validation._checks import AsyncMethod, Kind, failed, passed
from amplifier_core.validation._compliance import COMPLIANCE
from amplifier_core.validation._shapes import Members, members_of, stand_in
from amplifier_core.validation._source import Definition, Found, FunctionNode, Source, statements
from amplifier_core.validation.base import ValidationCheck
from amplifier_core.validation.kinds import VALIDATORS

_KIND_AT = {point: VALIDATORS[kind].kind for kind, point in TYPE_TO_MOUNT_POINT.items() if kind in VALIDATORS}
_HOOK = VALIDATORS["hook"].kind


class VisibleMounts:
    """The calls inside one ``mount()`` that mount or register something."""

    def __init__(self, source: Source, mount: Definition, function: FunctionNode) -> None:
        self._source = source
        self._module = mount.module
        self._calls = [node for node in ast.walk(function) if isinstance(node, ast.Call)]
        self._local_functions = {
            node.name: node for node in ast.walk(function) if isinstance(node, FunctionNode) and node is not function
        }
        self._local_values = _local_values(function)

    def checks(self, kind: str | None) -> Iterator[ValidationCheck]:
        """The checks of everything that is visible, whatever its kind, and of ``kind`` being among it."""
        seen: set[str] = set()
        for call in self._calls:
            mounted = _mounted_by(call)
            handler = _registered_by(call)
            if mounted is not None:
                seen.add(mounted[0].name)
                yield from self._check_instance(*mounted)
            elif handler is not None:
                seen.add("hook")
                yield from self._check_handler(handler)
        if kind is not None and kind not in seen:
            yield _open(f"It cannot be seen in mount() that it installs a {kind}")

    def _check_instance(self, kind: Kind, value: ast.expr) -> Iterator[ValidationCheck]:
        found = self._class_of(value)
        if not isinstance(found, Definition) or not isinstance(found.node, ast.ClassDef):
            yield _open(f"What is mounted at '{kind.point}' ({_shown(value)}) cannot be told")
            return
        who, members = f"{kind.title} class {found.node.name}", members_of(self._source, found)
        instance = SimpleNamespace(**{name: _member(members, name) for name in members.names})
        missing = missing_members(kind.name, instance)
        if not missing:
            yield passed(COMPLIANCE, f"{who} implements {kind.interface} interface")
        elif members.is_open:
            yield _open(f"{who} may inherit or make at run time what cannot be seen: {', '.join(missing)}")
        else:
            lacking = f"(missing {', '.join(missing)})"
            yield failed(COMPLIANCE, f"{who} does not implement {kind.interface} interface {lacking}")
        for check in kind.checks:
            if isinstance(check, AsyncMethod) and check.method in members.functions:
                yield check(instance, who)

    def _check_handler(self, value: ast.expr) -> Iterator[ValidationCheck]:
        function, is_method = self._function_of(value)
        if function is None:
            yield _open(f"What is registered as a hook ({_shown(value)}) cannot be told")
            return
        handler = stand_in(function, is_method=is_method)
        for check in _HOOK.checks:
            yield check(handler, f"Handler {_shown(value)}")

    def _class_of(self, value: ast.expr) -> Found | None:
        """The class whose instance ``value`` is, if it is made in ``mount()`` by calling the class."""
        made = self._local_values.get(value.id) if isinstance(value, ast.Name) else value
        if isinstance(made, ast.Call) and isinstance(made.func, ast.Name):
            return self._source.lookup(self._module, made.func.id)
        return None

    def _function_of(self, value: ast.expr) -> tuple[FunctionNode | ast.Lambda | None, bool]:
        match value:
            case ast.Lambda():
                return value, False
            case ast.Name():
                return self._plain_function(value.id), False
            case ast.Attribute(value=ast.Name()):
                return self._method(value.value, value.attr), True
            case _:
                return None, False

    def _plain_function(self, name: str) -> FunctionNode | None:
        if name in self._local_functions:
            found: object = self._local_functions[name]
        else:
            definition = self._source.lookup(self._module, name)
            found = definition.node if isinstance(definition, Definition) else None
        return found if isinstance(found, FunctionNode) and not found.decorator_list else None

    def _method(self, owner: ast.expr, name: str) -> FunctionNode | None:
        found = self._class_of(owner)
        return members_of(self._source, found).functions.get(name) if isinstance(found, Definition) else None


def _local_values(function: FunctionNode) -> dict[str, ast.expr]:
    """What the variables of a function are bound to, those that are bound once."""
    values: dict[str, ast.expr] = {}
    stores = [node.id for node in ast.walk(function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]
    for statement in statements(function.body):
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                values[name] = value
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                values[name] = value
            case _:
                continue
    return {name: value for name, value in values.items() if stores.count(name) == 1}


def _mounted_by(call: ast.Call) -> tuple[Kind, ast.expr] | None:
    """Kind and instance of ``coordinator.mount(point, instance, …)``."""
    match call:
        case ast.Call(func=ast.Attribute(attr="mount"), args=[ast.Constant(value=str() as point), value, *_]):
            named = {keyword.arg: keyword.value for keyword in call.keywords}
            name = named.get("name", call.args[2] if len(call.args) > 2 else None)
            if point == "session" and isinstance(name, ast.Constant):
                point = str(name.value)
            return (_KIND_AT[point], value) if point in _KIND_AT else None
        case _:
            return None


def _registered_by(call: ast.Call) -> ast.expr | None:
    """The handler of ``….hooks.register(event, handler, …)``."""
    match call.func:
        case ast.Attribute(attr="register" | "on", value=ast.Attribute(attr="hooks") | ast.Name(id="hooks")):
            named = [keyword.value for keyword in call.keywords if keyword.arg == "handler"]
            return next(iter([*call.args[1:2], *named]), None)
        case _:
            return None


def _member(members: Members, name: str) -> object:
    function = members.functions.get(name)
    return stand_in(function, is_method=True) if function else _anything


def _anything() -> None:
    """Stands for a member of which nothing but the name is known."""


def _shown(value: ast.expr) -> str:
    return ast.unparse(value)[:100]


def _open(told: str) -> ValidationCheck:
    return passed(COMPLIANCE, f"{told}; only mounting it could tell")
