"""The value of an arithmetic expression: numbers, signs, parentheses, and nothing that a program could do."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from decimal import Decimal, DivisionByZero, InvalidOperation, Overflow, localcontext

MOST_CHARS = 500
_DIGITS = 30
_MOST_EXPONENT = 1_000

_BINARY: dict[type[ast.operator], Callable[[Decimal, Decimal], Decimal]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: Decimal.__truediv__,
    ast.FloorDiv: Decimal.__floordiv__,
    ast.Mod: Decimal.__mod__,
}
_UNARY: dict[type[ast.unaryop], Callable[[Decimal], Decimal]] = {ast.UAdd: operator.pos, ast.USub: operator.neg}
# How people write what Python writes in another way.
_SPELLINGS = str.maketrans({"×": "*", "·": "*", "÷": "/", "−": "-", "^": "**", ",": "", "_": ""})


class UncountableError(Exception):
    """What was given is no arithmetic, or has no value; the message is for whoever wrote it."""


def value_of(expression: str) -> str:
    """The value as text, exact to thirty digits; raises ``UncountableError``."""
    if len(expression) > MOST_CHARS:
        raise UncountableError(f"the expression is longer than {MOST_CHARS} characters")
    try:
        tree = ast.parse(expression.translate(_SPELLINGS).strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise UncountableError(f"{expression!r} is no arithmetic; expected something like '17 * 23'") from None
    with localcontext() as context:
        context.prec = _DIGITS
        try:
            return _told(_evaluated(tree.body))
        except DivisionByZero:
            raise UncountableError("it divides by zero") from None
        except (InvalidOperation, Overflow):
            raise UncountableError("it has no value that can be told") from None


def _evaluated(node: ast.expr) -> Decimal:
    match node:
        case ast.Constant(value=int() | float()) if not isinstance(node.value, bool):
            return Decimal(str(node.value))
        case ast.UnaryOp(op=sign, operand=inner) if type(sign) in _UNARY:
            return _UNARY[type(sign)](_evaluated(inner))
        case ast.BinOp(left=left, op=ast.Pow(), right=right):
            return _power(_evaluated(left), _evaluated(right))
        case ast.BinOp(left=left, op=sign, right=right) if type(sign) in _BINARY:
            return _BINARY[type(sign)](_evaluated(left), _evaluated(right))
        case _:
            raise UncountableError(f"{ast.unparse(node)!r} is no arithmetic; expected numbers and + - * / // % ^ ( )")


def _power(base: Decimal, exponent: Decimal) -> Decimal:
    if abs(exponent) > _MOST_EXPONENT:
        raise UncountableError(f"an exponent may be {_MOST_EXPONENT} at the most")
    return base**exponent


def _told(value: Decimal) -> str:
    if not value.is_finite():
        raise Overflow
    text = format(value.normalize(), "f")
    return text if len(text) <= _DIGITS + 2 else format(value, ".15g")
