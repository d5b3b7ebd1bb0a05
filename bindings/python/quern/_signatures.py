# SPDX-License-Identifier: Apache-2.0
"""Signatures of functions, methods and classes of the compiled module, as inspect.signature, IPython and Jupyter ask for them.

nanobind keeps the signature of a function as text, and its functions can have no `__signature__`. So the functions of quern and
the methods of its classes are thin wrappers of them (0.2 µs a call). A signature is made when somebody asks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import _quern

_function: Any = type(_quern.dedup)
_method: Any = type(_quern.Store.search)


class _Declared:
    """What inspect.unwrap finds behind a wrapper."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        return self._function(*arguments, **options)

    @property
    def __signature__(self) -> Any:
        from ._signature_text import declared

        return declared(self._function)


class _OfClass:
    """The signature of a class is that of its own __init__; a class that is derived from it in Python has another."""

    def __init__(self, made: type) -> None:
        self._made = made

    def __get__(self, instance: Any, owner: type) -> Any:
        if instance is not None or owner is not self._made:
            raise AttributeError("__signature__")
        from ._signature_text import declared_class

        return declared_class(owner)


def _wrapper(name: str, function: Any) -> Any:
    def call(*arguments: Any, **options: Any) -> Any:
        try:
            return function(*arguments, **options)
        except TypeError as why:
            if "(): incompatible function arguments" not in str(why):
                raise
            from ._signature_text import what_is_wrong

            raise TypeError(f"{name}(): {what_is_wrong(function, arguments, options)}") from None

    call.__name__, call.__qualname__ = name.rpartition(".")[2], name
    call.__module__, call.__doc__ = "quern", function.__doc__
    setattr(call, "__wrapped__", _Declared(function))
    return call


def _add_to_class(made: type) -> None:
    if isinstance(vars(made).get("__init__"), _method):
        setattr(made, "__signature__", _OfClass(made))
    for name, value in list(vars(made).items()):
        if name.startswith("_"):
            continue
        if isinstance(value, _method):
            setattr(made, name, _wrapper(f"{made.__name__}.{name}", value))
        elif isinstance(value, _function):
            setattr(made, name, staticmethod(_wrapper(f"{made.__name__}.{name}", value)))


def add_to(names: dict[str, Any]) -> None:
    """Replaces the functions of a namespace by wrappers, as the methods of its classes, and gives the classes signatures."""
    for name, value in list(names.items()):
        if isinstance(value, _function):
            names[name] = _wrapper(name, value)
        elif isinstance(value, type) and value.__module__ == _quern.__name__:
            _add_to_class(value)
