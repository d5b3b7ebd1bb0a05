# SPDX-License-Identifier: Apache-2.0
"""Values for the parameters that all functions share."""

from __future__ import annotations

import contextlib
import contextvars
from collections.abc import Iterator
from typing import Any

_names = ("threads", "memory", "gpu_memory", "device", "tmp", "progress", "seed")
_values: contextvars.ContextVar[dict[str, Any]] = contextvars.ContextVar("quern.config", default={})


def current() -> dict[str, Any]:
    """The values in force."""
    return _values.get()


@contextlib.contextmanager
def config(**values: Any) -> Iterator[None]:
    """Values of `threads`, `memory`, `gpu_memory`, `device`, `tmp`, `progress` and `seed` for all calls in a block.

    A call's own argument comes first; None in a call means the built-in default.

    >>> import quern
    >>> with quern.config(threads=2, memory="1G"):
    ...     result = quern.dedup(["Salt comes from the sea.", "Salt comes from the sea!"])
    >>> result.keep.tolist()
    [True, False]
    """
    for name in values:
        if name not in _names:
            raise TypeError(f"config() got an unexpected keyword argument '{name}' (expected {', '.join(_names)})")
    token = _values.set({**_values.get(), **values})
    try:
        yield
    finally:
        _values.reset(token)
