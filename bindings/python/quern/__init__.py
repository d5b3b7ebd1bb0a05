# SPDX-License-Identifier: Apache-2.0
"""Search, near-duplicates, n-grams and ranks of text, exact, with the same bits on every machine."""

from ._config import config
from ._quern import (
    DamagedStore,
    DeviceError,
    Error,
    InvalidInput,
    OutOfMemory,
    StorageError,
    Table,
    UsageError,
    __version__,
    doctor,
)
