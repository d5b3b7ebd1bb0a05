# SPDX-License-Identifier: Apache-2.0
"""Pickles of results: the values of their attributes, without what only the run itself has (texts, files)."""

from __future__ import annotations

import copyreg
from typing import Any

from . import _quern
from ._quern import (
    BuildResult,
    Comparison,
    DecontaminateResult,
    DedupResult,
    Evaluation,
    FilterResult,
    PartsResult,
    UsageError,
)

_kinds: dict[str, Any] = {}


def _names(kind: type) -> list[str]:
    return [name for name, value in vars(kind).items() if isinstance(value, property) and not name.startswith("_")]


def _methods(kind: type) -> list[str]:
    return [name for name, value in vars(kind).items() if callable(value) and not name.startswith("_")]


class _Refused:
    """In place of an attribute that the result itself refuses."""

    def __init__(self, why: str) -> None:
        self.why = why


def _value_of(result: Any, name: str) -> Any:
    try:
        return getattr(result, name)
    except UsageError as why:
        return _Refused(str(why))


def _kept_class(kind: type) -> type:
    """A subclass whose objects have the values in a dict, and nothing of the base's own."""

    def attribute(name: str) -> property:
        def value(self: Any) -> Any:
            found = self._values[name]
            if isinstance(found, _Refused):
                raise UsageError(found.why)
            return found

        return property(value, doc=getattr(kind, name).__doc__)

    def method(name: str) -> Any:
        def refuse(self: Any, *args: Any, **kwargs: Any) -> Any:
            raise UsageError(f"{name}: a pickle has no texts and no inputs; ask the result of the run itself")

        return refuse

    body: dict[str, Any] = {name: attribute(name) for name in _names(kind)}
    body |= {name: method(name) for name in _methods(kind)}
    body["__reduce__"] = lambda self: (restored, (kind.__name__, self._values))
    body["__repr__"] = lambda self: str(self._values["__repr__"])
    if hasattr(kind, "_repr_html_"):
        body["_repr_html_"] = lambda self: self._values["_repr_html_"]
    body["__doc__"] = kind.__doc__
    return type(kind.__name__, (kind,), body)


def restored(name: str, values: dict[str, Any]) -> Any:
    """The result of a pickle."""
    if name not in _kinds:
        _kinds[name] = _kept_class(getattr(_quern, name))
    made = _kinds[name].__new__(_kinds[name])
    made._values = values
    return made


def _reduced(result: Any) -> tuple[Any, ...]:
    kind = type(result)
    values = {name: _value_of(result, name) for name in _names(kind)}
    values["__repr__"] = repr(result)
    values["_repr_html_"] = result._repr_html_() if hasattr(kind, "_repr_html_") else None
    return restored, (kind.__name__, values)


for _kind in (BuildResult, Comparison, DecontaminateResult, DedupResult, Evaluation, FilterResult, PartsResult):
    copyreg.pickle(_kind, _reduced)
