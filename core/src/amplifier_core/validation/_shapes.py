"""What can be told of functions and classes from their syntax alone: parameters, members, and what stays open."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from inspect import Parameter, Signature
from typing import Any

from amplifier_core.validation._source import (
    Definition,
    FunctionNode,
    Source,
    statements,
)

# Bases that bring no member of a module contract with them.
_HARMLESS_BASES = frozenset({"object", "ABC", "Generic"})
_POSITIONAL = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)


class _Default:
    """Stands for any default value; shown in signatures."""

    def __repr__(self) -> str:
        return "…"


_DEFAULT = _Default()


def stand_in(function: FunctionNode | ast.Lambda, *, is_method: bool = False) -> Callable[..., Any]:
    """A function that looks like the one in the source, async or not, with the same parameters, and does nothing."""

    async def is_async() -> None: ...

    def is_plain() -> None: ...

    shown: Callable[..., Any] = is_async if isinstance(function, ast.AsyncFunctionDef) else is_plain
    parameters = _parameters(function.args)
    has_self = is_method and bool(parameters) and parameters[0].kind in _POSITIONAL
    shown.__dict__["__signature__"] = Signature(parameters[1:] if has_self else parameters)
    return shown


def _parameters(arguments: ast.arguments) -> list[Parameter]:
    positional = [*arguments.posonlyargs, *arguments.args]
    defaults = [*[None] * (len(positional) - len(arguments.defaults)), *arguments.defaults]
    groups = [
        (Parameter.POSITIONAL_ONLY, positional[: len(arguments.posonlyargs)], defaults),
        (Parameter.POSITIONAL_OR_KEYWORD, arguments.args, defaults[len(arguments.posonlyargs) :]),
        (Parameter.VAR_POSITIONAL, [arguments.vararg], [None]),
        (Parameter.KEYWORD_ONLY, arguments.kwonlyargs, arguments.kw_defaults),
        (Parameter.VAR_KEYWORD, [arguments.kwarg], [None]),
    ]
    return [
        Parameter(argument.arg, kind, default=Parameter.empty if default is None else _DEFAULT)
        for kind, group, values in groups
        for argument, default in zip(group, values, strict=False)
        if argument is not None
    ]


@dataclass(slots=True)
class Members:
    """The members of a class; ``functions`` holds those that are plain methods. An open class may have more."""

    names: set[str] = field(default_factory=set[str])
    functions: dict[str, FunctionNode] = field(default_factory=dict[str, FunctionNode])
    is_open: bool = False


def members_of(source: Source, definition: Definition) -> Members:
    """The members of the class, its bases in the same package included."""
    members = Members()
    _collect(source, definition, members, frozenset())
    return members


def _collect(source: Source, definition: Definition, members: Members, seen: frozenset[int]) -> None:
    node = definition.node
    if not isinstance(node, ast.ClassDef) or id(node) in seen:
        members.is_open = True
        return
    members.is_open |= bool(node.keywords) or not all(map(_is_dataclass, node.decorator_list))
    for statement in statements(node.body):
        _add(statement, members)
    for base in node.bases:
        _collect_base(source, definition.module, base, members, seen | {id(node)})


def _collect_base(source: Source, module: str, base: ast.expr, members: Members, seen: frozenset[int]) -> None:
    named = base.value if isinstance(base, ast.Subscript) else base
    if isinstance(named, ast.Name) and named.id in _HARMLESS_BASES:
        return
    found = source.lookup(module, named.id) if isinstance(named, ast.Name) else None
    if isinstance(found, Definition):
        _collect(source, found, members, seen)
    else:
        members.is_open = True


def _add(statement: ast.stmt, members: Members) -> None:
    """Adds what one statement of a class body defines; what is there already comes from nearer to the class."""
    if isinstance(statement, FunctionNode):
        if statement.name not in members.names and not statement.decorator_list:
            members.functions[statement.name] = statement
        members.names |= {statement.name, *_attributes_set_in(statement)}
        members.is_open |= statement.name in ("__getattr__", "__getattribute__") or _sets_by_name(statement)
    elif isinstance(statement, ast.Assign | ast.AnnAssign):
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        members.names |= {target.id for target in targets if isinstance(target, ast.Name)}


def _attributes_set_in(method: FunctionNode) -> Iterator[str]:
    """The attributes of ``self``, whatever it is called, that a method assigns to."""
    own = next((argument.arg for argument in [*method.args.posonlyargs, *method.args.args]), None)
    for node in ast.walk(method):
        match node:
            case ast.Attribute(value=ast.Name(id=owner), attr=name, ctx=ast.Store()) if owner == own:
                yield name
            case _:
                continue


def _sets_by_name(method: FunctionNode) -> bool:
    """Whether a method may add attributes whose names are known at run time only."""
    names = {node.id for node in ast.walk(method) if isinstance(node, ast.Name)}
    attributes = {node.attr for node in ast.walk(method) if isinstance(node, ast.Attribute)}
    return bool({"setattr", "vars"} & names) or "__dict__" in attributes


def _is_dataclass(decorator: ast.expr) -> bool:
    function = decorator.func if isinstance(decorator, ast.Call) else decorator
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    return name == "dataclass"
