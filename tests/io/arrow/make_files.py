#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make_files.py: writes the files of tests/io/arrow/files, with pyarrow (26.0.1 wrote those that are there).

special_128_bits.arrow, which polars 2.1.0 wrote, needs polars: pyarrow has no such integers.

Every NAME.arrow and NAME.arrows (a stream) but those of `special` has the rows of tests/io/parquet/make_files.py, and so the
documents of tests/io/parquet/files/expected.jsonl, stored in another way.
"""
import datetime
import decimal
import importlib.util
import pathlib

import polars
import pyarrow as pa

HERE = pathlib.Path(__file__).parent
FOLDER = HERE / "files"
specification = importlib.util.spec_from_file_location("parquet_files", HERE.parent / "parquet" / "make_files.py")
parquet_files = importlib.util.module_from_spec(specification)
specification.loader.exec_module(parquet_files)


def changed(table, types):
    for name, kind in types.items():
        column = table[name]
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        at = table.schema.get_field_index(name)
        table = table.set_column(at, name, column.cast(kind) if not callable(kind) else kind(column))
    return table


def write(name, table, codec=None, rows=7, is_stream=False, **options):
    options = pa.ipc.IpcWriteOptions(compression=codec, **options)
    path = FOLDER / (name + (".arrows" if is_stream else ".arrow"))
    make = pa.ipc.new_stream if is_stream else pa.ipc.new_file
    with make(str(path), table.schema, options=options) as out:
        for batch in table.to_batches(max_chunksize=rows):
            out.write_batch(batch)


def special():
    """Files with other rows."""
    every_type = {
        "text": ["one", "two", None],
        "i8": pa.array([-128, None, 127], pa.int8()),
        "u16": pa.array([65535, None, 0], pa.uint16()),
        "u64": pa.array([2**64 - 1, None, 0], pa.uint64()),
        "half": pa.array([0.5, None, -2], pa.float16()),
        "ms": pa.array([datetime.date(2024, 2, 29), None, datetime.date(1969, 12, 31)], pa.date64()),
        "second": pa.array([1709251199, None, -1], pa.timestamp("s")),
        "nano": pa.array([1709251199123456789, None, -1], pa.timestamp("ns", "Europe/Berlin")),
        "hour": pa.array([3723, None, 0], pa.time32("s")),
        "tick": pa.array([3723000000001, None, 0], pa.time64("ns")),
        "span": pa.array([5, None, -5], pa.duration("s")),
        "small": pa.array([decimal.Decimal("1.5"), None, decimal.Decimal("-0.1")], pa.decimal32(5, 1)),
        "large": pa.array([decimal.Decimal(10) ** 60, None, decimal.Decimal(-1)], pa.decimal256(70, 0)),
        "empty": pa.nulls(3),
        "pair": pa.array([[1, 2], None, [None, 4]], pa.list_(pa.int32(), 2)),
        "deep": pa.array([[["a"], []], None, [None, ["b", None]]], pa.list_(pa.large_list(pa.string_view()))),
        "bytes": pa.array([b"\xff", None, b""], pa.large_binary()),
        "views": pa.array([["x"], None, []], pa.list_view(pa.string())),
        "choice": pa.UnionArray.from_dense(pa.array([0, 1, 0], pa.int8()), pa.array([0, 0, 1], pa.int32()),
                                           [pa.array([1, 2]), pa.array(["u"])]),
        "runs": pa.RunEndEncodedArray.from_arrays([2, 3], ["r", "s"]),
        "last": ["after", "all", "that"],
    }
    write("special_every_type", pa.table(every_type))
    keys = pa.DictionaryArray.from_arrays(pa.array([0] * 20000, pa.int32()), pa.array(["x" * (1 << 20)]))
    write("special_repeated_text", pa.table({"text": keys}), codec="zstd", rows=20000)
    first = pa.array(["a", "b"]).dictionary_encode()
    second = pa.DictionaryArray.from_arrays(pa.array([2, 0], pa.int32()), pa.array(["a", "b", "c"]))
    third = pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int32()), pa.array(["other", None]))
    path = FOLDER / "special_dictionaries.arrows"
    options = pa.ipc.IpcWriteOptions(emit_dictionary_deltas=True)
    schema = pa.schema({"text": first.type})
    with pa.ipc.new_stream(str(path), schema, options=options) as out:
        for part in (first, second, third):
            out.write_batch(pa.record_batch([part], schema=schema))
    write("special_large", pa.table({"text": [f"{i} " + "text " * 200 for i in range(400)]}), codec="zstd", rows=400)
    write("special_nested_text", pa.table({"text": [[{"role": "user", "content": "hello"}]] * 3}))
    write("special_nothing", pa.table({"text": pa.array([], pa.string())}))
    wide = polars.DataFrame({"text": ["one", "two", "three", "four"],
                             "n": polars.Series([2**127 - 1, None, -2**127, -1], dtype=polars.Int128),
                             "u": polars.Series([2**128 - 1, None, 0, 5], dtype=polars.UInt128),
                             "last": ["a", "b", "c", "d"]})
    wide.write_ipc(FOLDER / "special_128_bits.arrow", compat_level=polars.CompatLevel.oldest())


def main():
    FOLDER.mkdir(exist_ok=True)
    for old in FOLDER.glob("*"):
        old.unlink()
    table = parquet_files.table()
    large = {"id": pa.large_string(), "text": pa.large_string(), "title": pa.large_string(), "raw": pa.large_binary(),
             "links": pa.large_list(pa.large_string()), "lang": pa.large_string()}
    views = {"id": pa.string_view(), "text": pa.string_view(), "title": pa.string_view(), "raw": pa.binary_view(),
             "lang": pa.string_view()}
    encode = lambda column: column.combine_chunks().dictionary_encode()
    keys = {"id": encode, "text": encode, "title": encode, "count": encode, "day": encode}
    write("plain", table)
    write("lz4", table, "lz4")
    write("zstd", table, "zstd", rows=100)
    write("stream", table, is_stream=True)
    write("stream_zstd", table, "zstd", is_stream=True)
    write("large_lz4", changed(table, large), "lz4")
    write("views", changed(table, views))
    write("views_zstd", changed(table, views), "zstd", rows=5)
    write("keys", changed(table, keys))
    write("keys_stream_lz4", changed(table, keys), "lz4", is_stream=True)
    write("version_4", table, metadata_version=pa.ipc.MetadataVersion.V4)
    special()


if __name__ == "__main__":
    main()
