# SPDX-License-Identifier: Apache-2.0
"""A signature from its text, as nanobind keeps it, and what a call lacks by it."""

from __future__ import annotations

import ast
import inspect
import re
from typing import Any


class _Written:
    """A default value as it is written."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


def _value(node: ast.expr) -> Any:
    try:
        return ast.literal_eval(node)
    except ValueError:
        return _Written(ast.unparse(node))


def signature_of(text: str, defaults: tuple[Any, ...] | None = None) -> inspect.Signature:
    """The signature of "def name(a: int, *, b: str = 'x') -> None"; `\\0`, `\\1` … stand for `defaults`."""
    written = re.sub(r"\\(\d+)", lambda at: repr(defaults[int(at[1])]) if defaults else "...", text)
    function = ast.parse(written + ": ...").body[0]
    assert isinstance(function, ast.FunctionDef)
    arguments, kinds = function.args, inspect.Parameter
    found: list[inspect.Parameter] = []

    def add(argument: ast.arg | None, kind: Any, default: ast.expr | None = None) -> None:
        if argument is None:
            return
        annotation = ast.unparse(argument.annotation) if argument.annotation else inspect.Parameter.empty
        value = inspect.Parameter.empty if default is None else _value(default)
        found.append(inspect.Parameter(argument.arg, kind, default=value, annotation=annotation))

    positional = [*arguments.posonlyargs, *arguments.args]
    without = [None] * (len(positional) - len(arguments.defaults))
    for at, (argument, default) in enumerate(zip(positional, [*without, *arguments.defaults])):
        only = at < len(arguments.posonlyargs)
        add(argument, kinds.POSITIONAL_ONLY if only else kinds.POSITIONAL_OR_KEYWORD, default)
    add(arguments.vararg, kinds.VAR_POSITIONAL)
    for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults):
        add(argument, kinds.KEYWORD_ONLY, default)
    add(arguments.kwarg, kinds.VAR_KEYWORD)
    returns = ast.unparse(function.returns) if function.returns else inspect.Signature.empty
    return inspect.Signature(found, return_annotation=returns)


def declared(function: Any) -> inspect.Signature:
    """Raises AttributeError, so that `inspect` goes on without, where there is none or more than one."""
    try:
        ((text, _, *defaults),) = function.__nb_signature__
        return signature_of(text, *defaults)
    except (SyntaxError, ValueError, TypeError, IndexError, AssertionError) as why:
        raise AttributeError("__signature__") from why


def declared_class(made: Any) -> inspect.Signature:
    """That of __init__, without `self`."""
    whole = declared(made.__init__)
    return whole.replace(parameters=list(whole.parameters.values())[1:], return_annotation=inspect.Signature.empty)


def what_is_wrong(function: Any, arguments: tuple[Any, ...], options: dict[str, Any]) -> str:
    """Why a call does not fit its function; nanobind shows the whole signature instead."""
    try:
        signature = declared(function)
        bound = signature.bind(*arguments, **options).arguments
    except AttributeError:
        return "an argument is missing or has a wrong type"
    except TypeError as why:
        return str(why)
    types = {name: str(signature.parameters[name].annotation) for name in bound if name != "self"}
    for name, expected in types.items():
        if bound[name] is None and "None" not in expected:
            return f"{name}: None is not accepted" + (f" (expected {expected})" if expected not in ("object", "Any") else "")
    given = ", ".join(f"{name}: {type(bound[name]).__name__}" for name in types)
    return f"an argument has a wrong type: got {given} (expected {', '.join(f'{name}: {types[name]}' for name in types)})"
