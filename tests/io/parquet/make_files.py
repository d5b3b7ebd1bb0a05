#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make_files.py: writes the files of tests/io/parquet/files, with pyarrow (26.0.1 wrote those that are there).

Every NAME.parquet but those of `special` has the rows of `table()`, stored in another way; expected.jsonl has these rows as
pyarrow gives them: {"id", "title", "text", "links", "fields"}, a line for each row with a text.
"""
import datetime
import decimal
import json
import pathlib

import pyarrow as pa
import pyarrow.parquet as pq

FOLDER = pathlib.Path(__file__).parent / "files"
ROWS = 18


def table():
    utc = datetime.timezone.utc
    every = lambda values: [values[i % len(values)] for i in range(ROWS)]
    return pa.table({
        "id": [f"d{i}" for i in range(ROWS)],
        "text": [None if i % 11 == 5 else f"words of {i} " + "ça va " * (i % 4) for i in range(ROWS)],
        "title": every(["one", None, "", 'a "b"\n\\']),
        "links": pa.array(every([["d1", "d2"], None, [], ["d3"]]), pa.list_(pa.string())),
        "lang": pa.array(every(["en", "de", None])).dictionary_encode(),
        "count": pa.array(every([1, -2, None, 2**62]), pa.int64()),
        "byte": pa.array(every([255, 0, None]), pa.uint8()),
        "good": pa.array(every([True, None, False])),
        "share": pa.array(every([0.5, None, -1.25]), pa.float32()),
        "score": pa.array(every([0.1, 1e300]), pa.float64()),
        "price": pa.array(every([decimal.Decimal("-12.50"), None, decimal.Decimal("0.07")]), pa.decimal128(20, 2)),
        "day": pa.array(every([datetime.date(2024, 2, 29), None, datetime.date(1, 1, 1)])),
        "at": pa.array(every([datetime.datetime(2024, 2, 29, 23, 59, 59, 123456, utc), None,
                              datetime.datetime(1969, 12, 31, 1, 2, 3, 0, utc)]), pa.timestamp("us", "UTC")),
        "raw": pa.array(every([b"\xff\x00", None])),
        "meta": pa.array(every([{"url": "u", "parts": [{"n": 1, "of": ["x"]}, {"n": None, "of": None}]}, None,
                                {"url": None, "parts": []}])),
        "marks": pa.array(every([[("a", 1), ("b", None)], None, []]), pa.map_(pa.string(), pa.int32())),
    })


def in_json(name, value):
    if isinstance(value, decimal.Decimal):
        return float(value)  # the same number in JSON; the test compares the bytes of these few
    if isinstance(value, datetime.datetime):
        return value.replace(tzinfo=None).isoformat() + "Z"
    if isinstance(value, datetime.date):
        return value.isoformat()
    if name == "marks" and value is not None:
        return dict(value)
    return value


def expected():
    for row in table().to_pylist():
        if row["text"] is None:
            continue
        used = ("id", "title", "text", "links", "raw")
        fields = {name: in_json(name, value) for name, value in row.items() if name not in used}
        yield {"id": row["id"], "title": row["title"] or "", "text": row["text"], "links": row["links"] or [],
               "fields": fields}


def write(name, what, **options):
    pq.write_table(what, FOLDER / f"{name}.parquet", store_schema=False, write_statistics=False, **options)


def special():
    """Files with other rows."""
    text = ["x" * (1 << 20)]
    keys = pa.DictionaryArray.from_arrays(pa.array([0] * 20000, pa.int32()), pa.array(text))
    write("special_repeated_text", pa.table({"text": keys}), compression="zstd", compression_level=19,
          dictionary_pagesize_limit=1 << 22)
    fronts = pa.table({"text": ["y" * 900] * 300})
    write("special_repeated_fronts", fronts, compression="none", use_dictionary=False,
          column_encoding={"text": "DELTA_BYTE_ARRAY"})
    write("special_brotli", pa.table({"text": ["a text"] * 3}), compression="brotli")
    write("special_nested_text", pa.table({"text": [[{"role": "user", "content": "hello"}]] * 3}))
    write("special_checksums", pa.table({"id": list(range(60)), "text": [f"text {i}" for i in range(60)]}),
          compression="none", use_dictionary=False, write_page_checksum=True, data_page_size=400, write_batch_size=20)
    # A page that says that it becomes 1.9 GB.
    write("special_lie", pa.table({"text": ["a text that is compressed " * 9] * 3}), compression="zstd",
          use_dictionary=False)
    path = FOLDER / "special_lie.parquet"
    content = path.read_bytes()
    assert content[4] == 0x15 and content[6] == 0x15, "type, then the plain size"
    end = 7
    while content[end] & 128:
        end += 1
    lie, number = b"", 1_900_000_000 * 2
    while number > 127:
        lie += bytes([number & 127 | 128])
        number >>= 7
    path.write_bytes(content[:7] + lie + bytes([number]) + content[end + 1:])


def main():
    for old in FOLDER.glob("*"):
        old.unlink()
    rows = table()
    delta = {name: "DELTA_BINARY_PACKED" for name in ("count", "byte", "day", "at")}
    split = {name: "BYTE_STREAM_SPLIT" for name in ("share", "score", "price", "count")}
    plain = {"use_dictionary": False}
    write("plain", rows, compression="none", row_group_size=11, **plain)
    write("snappy_pages", rows, compression="snappy", data_page_size=40, write_batch_size=8)
    write("gzip_v2", rows, compression="gzip", data_page_version="2.0")
    write("zstd_v2_fronts", rows, compression="zstd", data_page_version="2.0", **plain,
          column_encoding=delta | {"text": "DELTA_BYTE_ARRAY", "id": "DELTA_BYTE_ARRAY", "good": "RLE",
                                   "links.list.element": "DELTA_BYTE_ARRAY"})
    write("lz4_lengths", rows, compression="lz4", **plain,
          column_encoding=split | {"text": "DELTA_LENGTH_BYTE_ARRAY", "title": "DELTA_LENGTH_BYTE_ARRAY"})
    with open(FOLDER / "expected.jsonl", "w", encoding="utf-8") as out:
        for row in expected():
            out.write(json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n")
    special()


if __name__ == "__main__":
    main()
