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


# What the format allows for each encoding: names of columns, as values() makes them.
ENCODINGS = {
    "PLAIN": ["text", "bool", "i32", "i64", "f32", "f64", "fixed"],
    "RLE_DICTIONARY": ["text", "i32", "i64", "f32", "f64", "fixed"],
    "DELTA_BINARY_PACKED": ["i32", "i64"],
    "DELTA_LENGTH_BYTE_ARRAY": ["text"],
    "DELTA_BYTE_ARRAY": ["text", "fixed"],
    "BYTE_STREAM_SPLIT": ["i32", "i64", "f32", "f64", "fixed"],
    "RLE": ["bool"],
}


def values(kind: str, chance: random.Random) -> Any:
    """A value of a kind of column: of all lengths and sizes, also the outermost."""
    if kind == "text":
        return chance.choice(["", "a", "ça va", "臼", 'q"uo\\te\n', "front " * 9 + str(chance.random())])
    if kind == "bool":
        return chance.random() < 0.5
    if kind == "f32":
        return chance.choice([0.5, -0.25, 2.0**20, float(chance.randint(-999, 999))])
    if kind == "f64":
        return chance.choice([chance.random(), -1e300, 5e-324, 2.0**40])
    if kind == "fixed":
        return decimal.Decimal(chance.randint(-(10**15), 10**15)).scaleb(-5)
    bits = int(kind[1:])
    return chance.choice([0, -1, 2 ** (bits - 1) - 1, -(2 ** (bits - 1)), chance.randint(-99, 99)])


TYPES = {
    "text": pa.string(), "bool": pa.bool_(), "i32": pa.int32(), "i64": pa.int64(), "f32": pa.float32(),
    "f64": pa.float64(), "fixed": pa.decimal128(30, 5),
}  # fmt: skip


def columns_of(encoding: str) -> Any:
    """Each kind of column that may have the encoding: required, with nulls, only nulls, and in lists with nulls."""
    chance = random.Random(encoding)
    fields, arrays = [], []

    def add(name: str, kind: Any, made: list[Any], nullable: bool = True) -> None:
        fields.append(pa.field(name, kind, nullable=nullable))
        arrays.append(pa.array(made, kind))

    count = 400
    add("id", pa.int64(), list(range(count)), nullable=False)
    # Of the encoding, too, if it is one of strings. No text is near another one.
    add("text", pa.string(), [f"{i} " + chance.randbytes(10 + i % 50).hex() for i in range(count)])
    for kind in ENCODINGS[encoding]:
        some = [values(kind, chance) for _ in range(count)]
        add(f"{kind}_required", TYPES[kind], some, nullable=False)
        add(f"{kind}_nulls", TYPES[kind], [None if chance.random() < 0.3 else value for value in some])
        add(f"{kind}_nothing", TYPES[kind], [None] * count)
        lists = [
            [chance.choice([None, values(kind, chance)]) for _ in range(chance.randint(0, 4))] for _ in range(count)
        ]
        add(f"{kind}_list", pa.list_(TYPES[kind]), [None if chance.random() < 0.2 else each for each in lists])
    return pa.Table.from_arrays(arrays, schema=pa.schema(fields))


def leaves_of(rows: Any, encoding: str) -> list[str]:
    """The paths of the columns that get the encoding."""
    names = [field.name + (".list.element" if pa.types.is_list(field.type) else "") for field in rows.schema]
    return [name for name in names if name.split("_")[0] in ENCODINGS[encoding]]


def kept_rows(command: Callable[..., bytes], path: pathlib.Path) -> list[dict[str, Any]]:
    kept = path.with_suffix(".jsonl")
    command("dedup", path, "--method", "signature", "--threshold", "0.01", "-o", kept, "--force", "--quiet")
    lines = kept.read_text(encoding="utf-8").split("\n")[:-1]
    return [json.loads(line, parse_float=decimal.Decimal) for line in lines]


def exact(value: Any) -> Any:
    """Numbers as decimals, so that every digit counts."""
    if isinstance(value, list):
        return [exact(each) for each in value]
    return decimal.Decimal(repr(value)) if type(value) in (int, float) else value


@pytest.mark.parametrize("codec", ["none", "snappy", "gzip", "zstd", "lz4"])
@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_every_encoding_codec_and_page_version(
    encoding: str, version: str, codec: str, tmp_path: pathlib.Path, command: Callable[..., bytes]
) -> None:
    rows = columns_of(encoding)
    leaves = leaves_of(rows, encoding)
    path = tmp_path / "x.parquet"
    has_keys = encoding == "RLE_DICTIONARY"
    pq.write_table(rows, path, compression=codec, data_page_version=version, row_group_size=150, data_page_size=500,
                   write_batch_size=40, store_schema=False, use_dictionary=leaves if has_keys else False,
                   column_encoding=None if has_keys else dict.fromkeys(leaves, encoding))  # fmt: skip
    written = pq.ParquetFile(path).metadata
    assert written.num_row_groups == 3
    for i in range(written.num_columns):
        column = written.row_group(0).column(i)
        assert column.compression == ("UNCOMPRESSED" if codec == "none" else codec.upper())
        if column.path_in_schema in leaves and not column.path_in_schema.endswith("_nothing"):
            assert encoding in column.encodings, column.path_in_schema
    expected = [{name: exact(value) for name, value in row.items()} for row in pq.read_table(path).to_pylist()]
    got = [{name: exact(value) for name, value in row.items()} for row in kept_rows(command, path)]
    assert got == expected


@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_a_dictionary_that_grows_too_large_is_followed_by_plain_pages(
    version: str, tmp_path: pathlib.Path, command: Callable[..., bytes]
) -> None:
    rows = columns_of("RLE_DICTIONARY")
    path = tmp_path / "x.parquet"
    pq.write_table(rows, path, data_page_version=version, dictionary_pagesize_limit=1000, data_page_size=500,
                   write_batch_size=40)  # fmt: skip
    encodings = pq.ParquetFile(path).metadata.row_group(0).column(1).encodings
    assert "RLE_DICTIONARY" in encodings
    assert "PLAIN" in encodings
    assert [row["text"] for row in kept_rows(command, path)] == rows["text"].to_pylist()


def test_a_path_is_read_as_its_table_is(tmp_path: pathlib.Path) -> None:
    rows = table()
    path = tmp_path / "x.parquet"
    pq.write_table(rows, path, row_group_size=100)
    for threshold in (0.05, 0.5):
        of_file = quern.dedup(str(path), threshold=threshold)
        assert of_file.keep.tolist() == quern.dedup(rows["text"], threshold=threshold).keep.tolist()
