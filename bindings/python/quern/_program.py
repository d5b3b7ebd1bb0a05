# SPDX-License-Identifier: Apache-2.0
"""The program `quern` of this package."""

from __future__ import annotations

import os
import sys
from typing import NoReturn


def path() -> str:
    """The file of the program."""
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "quern")


def main() -> NoReturn:
    """Runs the program with this process's arguments, in place of this process."""
    program = path()
    try:
        os.execv(program, ["quern", *sys.argv[1:]])
    except OSError as why:
        sys.exit(f"quern: cannot run {program}: {why.strerror} (expected the program, which belongs to the package; "
                 "install it again: pip install --force-reinstall quern-engine)")
