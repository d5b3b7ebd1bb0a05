# SPDX-License-Identifier: Apache-2.0
"""Progress of a run: a bar, or a function of the user."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

_Function = Callable[[str, int, int, str], object]


class _Caller:
    """Passes progress to a function of the user."""

    def __init__(self, function: _Function) -> None:
        self._function = function

    def __call__(self, stage: str, done: int, total: int, unit: str) -> None:
        self._function(stage, done, total, unit)

    def close(self) -> None:
        pass


class _Bar:
    """A tqdm bar for each stage."""

    def __init__(self, tqdm: Any) -> None:
        self._tqdm = tqdm
        self._stage: str | None = None
        self._bar: Any = None

    def __call__(self, stage: str, done: int, total: int, unit: str) -> None:
        if stage != self._stage:
            self.close()
            self._stage = stage
            self._bar = self._tqdm(desc=stage, unit=" " + unit, unit_scale=True, leave=False)
        self._bar.total = total or None
        self._bar.n = done
        self._bar.refresh()

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()
        self._bar = None
        self._stage = None


class _Lines:
    """One line on standard error, rewritten: without tqdm."""

    def __init__(self) -> None:
        self._width = 0

    def __call__(self, stage: str, done: int, total: int, unit: str) -> None:
        share = f" of {total:,}" if total else ""
        line = f"{stage}: {done:,}{share} {unit}"
        sys.stderr.write("\r" + line.ljust(self._width))
        sys.stderr.flush()
        self._width = len(line)

    def close(self) -> None:
        if self._width:
            sys.stderr.write("\r" + " " * self._width + "\r")
            sys.stderr.flush()


def _is_watched() -> bool:
    if "ipykernel" in sys.modules:
        return True
    return sys.stderr is not None and sys.stderr.isatty()


def listener(progress: Any) -> Any:
    """What receives the progress of one run; None if nobody asks for it."""
    if callable(progress):
        return _Caller(progress)
    if progress is None:
        progress = _is_watched()
    if not isinstance(progress, bool):
        raise TypeError(f"progress: invalid value {progress!r} (expected True, False or a function)")
    if not progress:
        return None
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return _Lines()
    return _Bar(tqdm)
