# SPDX-License-Identifier: Apache-2.0
"""Parquet files that pyarrow writes in every way, value for value; and paths to them in Python's functions."""

import datetime
import decimal
import itertools
import json
import pathlib
import random
from collections.abc import Callable
from typing import Any

import pytest

import quern

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

ROWS = 700
Write = Callable[..., bytes]


def table() -> Any:
    chance = random.Random(7)

    def some(make: Callable[[], Any]) -> list[Any]:
        return [None if chance.random() < 0.1 else make() for _ in range(ROWS)]

    words = ["alpha", "beta", "ç", "臼", "", "delta epsilon", 'q"uo\\te\n\t\x01']
    return pa.table({
        "id": [f"doc{i}" for i in range(ROWS)],
        "text": [f"{i} {chance.random()} " + " ".join(chance.choices(words, k=i % 40)) for i in range(ROWS)],
        "i8": pa.array(some(lambda: chance.randint(-128, 127)), pa.int8()),
        "u32": pa.array(some(lambda: chance.randint(0, 2**32 - 1)), pa.uint32()),
        "u64": pa.array(some(lambda: chance.randint(0, 2**64 - 1)), pa.uint64()),
        "i64": pa.array(some(lambda: chance.randint(-(2**63), 2**63 - 1)), pa.int64()),
        "good": pa.array(some(lambda: chance.random() < 0.5), pa.bool_()),
        "f64": pa.array(some(lambda: chance.choice([chance.random(), 1e300, 5e-324])), pa.float64()),
        "keys": pa.array(some(lambda: chance.choice(["en", "de"]))).dictionary_encode(),
        "large": pa.array(some(lambda: "L" * chance.randint(0, 5)), pa.large_string()),
        "price": pa.array(some(lambda: decimal.Decimal(chance.randint(-(10**15), 10**15)).scaleb(-5)),
                          pa.decimal128(30, 5)),
        "day": pa.array(some(lambda: datetime.date(1, 1, 1) + datetime.timedelta(chance.randint(0, 3652058)))),
        "list": pa.array(some(lambda: [chance.choice(["x", None, "yy"]) for _ in range(chance.randint(0, 4))]),
                         pa.list_(pa.string())),
        "nested": pa.array(some(lambda: {"a": chance.choice([None, 1]),
                                         "l": chance.choice([None, [{"k": "q", "v": [1, None]}] * 2, []])})),
    })  # fmt: skip


def in_json(value: Any) -> Any:
    return value.isoformat() if isinstance(value, datetime.date) else value


DELTAS = {
    "text": "DELTA_BYTE_ARRAY", "id": "DELTA_BYTE_ARRAY", "large": "DELTA_LENGTH_BYTE_ARRAY", "i8": "DELTA_BINARY_PACKED",
    "u64": "DELTA_BINARY_PACKED", "i64": "DELTA_BINARY_PACKED", "day": "DELTA_BINARY_PACKED", "good": "RLE",
    "list.list.element": "DELTA_BYTE_ARRAY",
}  # fmt: skip
SPLIT = {"f64": "BYTE_STREAM_SPLIT", "i64": "BYTE_STREAM_SPLIT", "price": "BYTE_STREAM_SPLIT"}


@pytest.mark.parametrize("codec", ["none", "snappy", "gzip", "zstd", "lz4"])
def test_every_way_to_write_gives_the_same_values(
    codec: str, tmp_path: pathlib.Path, command: Callable[..., bytes]
) -> None:
    rows = table()
    expected = [{name: in_json(value) for name, value in row.items()} for row in rows.to_pylist()]
    encodings: list[dict[str, str] | None] = [None, DELTAS, SPLIT]
    for version, keys, encoding in itertools.product(["1.0", "2.0"], [True, False], encodings):
        if keys and encoding:
            continue
        path = tmp_path / "x.parquet"
        pq.write_table(rows, path, compression=codec, data_page_version=version, use_dictionary=keys,
                       column_encoding=encoding, row_group_size=300, data_page_size=2000,
                       write_page_checksum=keys)  # fmt: skip
        kept = tmp_path / "kept.jsonl"
        command("dedup", path, "--threshold", "0.0001", "-o", kept, "--force", "--quiet")
        lines = kept.read_text(encoding="utf-8").split("\n")[:-1]
        got = [json.loads(line, parse_float=decimal.Decimal) for line in lines]
        for row in got:
            row["f64"] = None if row["f64"] is None else float(row["f64"])
            row["price"] = None if row["price"] is None else decimal.Decimal(row["price"])
        assert got == expected, (version, keys, encoding)


def test_a_path_is_read_as_its_table_is(tmp_path: pathlib.Path) -> None:
    rows = table()
    path = tmp_path / "x.parquet"
    pq.write_table(rows, path, row_group_size=100)
    for threshold in (0.05, 0.5):
        of_file = quern.dedup(str(path), threshold=threshold)
        assert of_file.keep.tolist() == quern.dedup(rows["text"], threshold=threshold).keep.tolist()
