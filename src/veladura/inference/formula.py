"""What a formula may say: columns, numbers, operators and a list of functions, and nothing else.

The library that makes design matrices runs the pieces of a formula as Python. So a formula is read
here first, and one that holds anything else is refused before that library sees it.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Callable, Iterable
from typing import Any

from veladura.errors import PlanError

FUNCTIONS = (
    *("C", "I", "abs", "bs", "cc", "center", "cr", "cs", "exp", "exp10", "exp2", "log", "log10"),
    *("log1p", "log2", "midpoint", "number", "poly", "scale", "sqrt", "standardize", "year"),
)
OF_NUMPY = (
    *("abs", "cbrt", "cos", "exp", "exp2", "expm1", "log", "log10", "log1p", "log2"),
    *("maximum", "minimum", "sign", "sin", "sqrt", "square", "tanh"),
)
CONTRASTS = ("diff", "helmert", "poly", "SAS", "sum", "treatment")
MODULES = {"np": OF_NUMPY, "contr": CONTRASTS}
MOST_CHARACTERS = 10_000
LARGEST_POWER = 20
MOST_TERMS = 2_000  # crossing two dozen columns would make millions
MOST_PIECES = 100  # of a spline or polynomial
SMOOTH = ("bs", "cc", "cr", "cs", "poly")

_QUOTED = re.compile(r"\"[^\"\\]*\"|'[^'\\]*'")
_ALLOWED = (
    *(ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow, ast.BitXor, ast.BitOr),
    *(ast.BitAnd, ast.MatMult, ast.USub, ast.UAdd, ast.Invert, ast.Eq, ast.NotEq, ast.Lt, ast.LtE),
    *(ast.Gt, ast.GtE, ast.Load, ast.Expression, ast.UnaryOp, ast.Compare, ast.List, ast.Tuple),
    ast.keyword,
)


def check_formula(formula: str) -> None:
    """Refuse a formula that says more than a model.

    Examples
    --------
    >>> check_formula("log(income) ~ age + C(sex) + region:sex")
    """
    if not isinstance(formula, str) or len(formula) > MOST_CHARACTERS:
        msg = f"a formula must be text of at most {MOST_CHARACTERS:,} characters."
        raise PlanError(msg)
    texts: list[str] = []

    def kept(match: re.Match[str]) -> str:
        texts.append(match[0])
        return f" _text{len(texts) - 1} "

    plain = re.sub(r"`[^`]*`", " _column ", _QUOTED.sub(kept, formula))
    if not plain.isprintable() or re.search(r"[\"'`\\;@#$?!]", plain.replace("!=", "  ")):
        raise _refused("a sign that no formula needs")
    for side in plain.split("~"):
        _check_side(side, formula)


def check_models(models: Iterable[str]) -> tuple[str, ...]:
    """Return formulas, after refusing what is not one."""
    listed = tuple(models)
    for formula in listed:
        check_formula(formula)
        if "~" not in formula:
            msg = (
                f"the model {formula!r} has no response.\n\nHint: write response ~ term + term,"
                " such as 'log(income) ~ age + C(sex)'."
            )
            raise PlanError(msg)
    return listed


def _check_side(side: str, formula: str) -> None:
    """Refuse one side of a formula that holds anything but the parts of a model."""
    if not side.strip():
        return
    python = re.sub(r"(?<![\w.])\.(?![\w.])", " _all ", side).replace(":", "@")
    try:
        tree = ast.parse(python.strip(), mode="eval")
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        msg = (
            f"{formula!r} is not a valid formula.\n\nHint: write response ~ term + term, such as"
            " 'log(income) ~ age + C(sex)'; put names with spaces in backticks."
        )
        raise PlanError(msg) from None
    called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    for node in ast.walk(tree):
        check = _CHECKS.get(type(node))
        if check is not None:
            check(node, id(node) in called)
        elif not isinstance(node, _ALLOWED):
            raise _refused(f"a piece of Python ({type(node).__name__})")
    if _terms(tree.body) > MOST_TERMS:
        msg = (
            f"the formula has more than {MOST_TERMS:,} terms.\n\nHint: cross fewer columns, or take"
            " a smaller power of their sum."
        )
        raise PlanError(msg)


def _terms(node: ast.expr) -> int:
    """Return about how many terms a piece of a formula stands for, at most one more than allowed.

    Examples
    --------
    >>> [_terms(ast.parse(text, mode="eval").body) for text in ("a + b", "a*b", "(a + b + c)**2")]
    [2, 3, 6]
    """
    if not isinstance(node, ast.BinOp):
        return 1
    left, right = _terms(node.left), _terms(node.right)
    if isinstance(node.op, (ast.Pow, ast.BitXor)):
        power = node.right.value if isinstance(node.right, ast.Constant) else 1
        most = min(left, int(power)) if isinstance(power, (int, float)) else 1
        count = sum(math.comb(left, k) for k in range(1, most + 1)) or 1
    elif isinstance(node.op, ast.Mult):
        count = left * right + left + right
    elif isinstance(node.op, (ast.MatMult, ast.Div)):  # a colon is read as @
        count = left * right + left * isinstance(node.op, ast.Div)
    else:
        count = left + right
    return min(count, MOST_TERMS + 1)


def _check_attribute(node: Any, called: bool) -> None:  # noqa: FBT001
    owner = node.value.id if isinstance(node.value, ast.Name) else ""
    if not called or node.attr not in MODULES.get(owner, ()):
        raise _refused("an attribute")


def _check_name(node: Any, called: bool) -> None:  # noqa: FBT001
    if called and node.id not in FUNCTIONS:
        what = "function"
        raise PlanError.unknown(what, node.id, FUNCTIONS)
    if node.id.startswith("__"):
        raise _refused("a name of Python itself")


def _check_constant(node: Any, _called: bool) -> None:  # noqa: FBT001
    if not isinstance(node.value, (int, float, type(None))):
        raise _refused("a constant that is not a number")


def _check_braces(node: Any, _called: bool) -> None:  # noqa: FBT001
    if len(node.elts) != 1:
        raise _refused("braces around more than one expression")


def _check_call(node: Any, _called: bool) -> None:  # noqa: FBT001
    if any(keyword.arg is None for keyword in node.keywords):
        raise _refused("arguments with stars")
    if isinstance(node.func, ast.Name) and node.func.id in SMOOTH:
        given = [*node.args[1:], *(k.value for k in node.keywords if k.arg in ("df", "degree"))]
        numbers = [part.value for part in given if isinstance(part, ast.Constant)]
        lists = [part for part in ast.walk(node) if isinstance(part, (ast.List, ast.Tuple))]
        computed = any(isinstance(part, ast.BinOp) for part in given)
        large = any(isinstance(value, (int, float)) and value > MOST_PIECES for value in numbers)
        if computed or large or any(len(part.elts) > MOST_PIECES for part in lists):
            raise _refused(f"a spline or polynomial of more than {MOST_PIECES} pieces")


def _check_operator(node: Any, _called: bool) -> None:  # noqa: FBT001
    if isinstance(node.op, (ast.Pow, ast.BitXor)):
        power = node.right.operand if isinstance(node.right, ast.UnaryOp) else node.right
        if not isinstance(power, ast.Constant) or not _is_small(power.value):
            raise _refused(f"a power that is not a number of at most {LARGEST_POWER}")


def _is_small(value: object) -> bool:
    return isinstance(value, (int, float)) and abs(value) <= LARGEST_POWER


_CHECKS: dict[type[ast.AST], Callable[[Any, bool], None]] = {
    ast.Attribute: _check_attribute,
    ast.Name: _check_name,
    ast.Constant: _check_constant,
    ast.Set: _check_braces,
    ast.Call: _check_call,
    ast.BinOp: _check_operator,
}


def _refused(what: str) -> PlanError:
    return PlanError(
        f"the formula holds {what}. It may hold columns, numbers, operators and these functions:"
        f" {', '.join(FUNCTIONS)}; np.{', np.'.join(OF_NUMPY)}; contr.{', contr.'.join(CONTRASTS)}."
    )
