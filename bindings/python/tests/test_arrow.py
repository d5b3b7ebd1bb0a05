# SPDX-License-Identifier: Apache-2.0
"""Arrow files and streams that pyarrow and polars write in every way: the lines that a Parquet file of the same rows gives."""

import itertools
import pathlib
from collections.abc import Callable
from typing import Any

import polars
import pytest

import quern
from test_parquet import table

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")


def kept_lines(command: Callable[..., bytes], path: pathlib.Path) -> str:
    kept = path.with_suffix(".jsonl")
    command("dedup", path, "--threshold", "0.0001", "-o", kept, "--force", "--quiet")
    return kept.read_text(encoding="utf-8")


def as_views(rows: Any) -> Any:
    for name in ("id", "text", "large"):
        rows = rows.set_column(rows.schema.get_field_index(name), name, rows[name].cast(pa.string_view()))
    return rows


def as_keys(rows: Any) -> Any:
    for name in ("text", "i64", "day", "price"):
        rows = rows.set_column(rows.schema.get_field_index(name), name, rows[name].combine_chunks().dictionary_encode())
    return rows


@pytest.mark.parametrize("codec", [None, "lz4", "zstd"])
def test_every_way_to_write_gives_the_same_lines(
    codec: str | None, tmp_path: pathlib.Path, command: Callable[..., bytes]
) -> None:
    rows = table()
    pq.write_table(rows, tmp_path / "rows.parquet")
    expected = kept_lines(command, tmp_path / "rows.parquet")
    forms: list[Callable[[Any], Any]] = [lambda rows: rows, as_views, as_keys]
    for form, (make, name), size in itertools.product(
        forms, [(pa.ipc.new_file, "x.arrow"), (pa.ipc.new_stream, "x.arrows")], [97, 1000]
    ):
        made = form(rows)
        path = tmp_path / name
        with make(str(path), made.schema, options=pa.ipc.IpcWriteOptions(compression=codec)) as out:
            out.write_table(made, max_chunksize=size)
        assert kept_lines(command, path) == expected, (form, name, size)


def test_empty_groups_batches_and_a_stream_without_its_end_mark(
    tmp_path: pathlib.Path, command: Callable[..., bytes]
) -> None:
    rows = pa.table({"id": ["a", "b"], "text": ["rye bread", "wheat"]})
    empty = rows.schema.empty_table()
    parquet, arrow, stream = (tmp_path / name for name in ("x.parquet", "x.arrow", "x.arrows"))
    with pq.ParquetWriter(parquet, rows.schema) as out:
        for each in (empty, rows, empty):
            out.write_table(each)
    assert pq.ParquetFile(parquet).num_row_groups == 3
    for path, make in ((arrow, pa.ipc.new_file), (stream, pa.ipc.new_stream)):
        with make(str(path), rows.schema) as out:
            for batch in (empty, rows, empty):
                out.write_batch(pa.RecordBatch.from_pydict(batch.to_pydict(), schema=rows.schema))
    # A writer that was ended closes its pipe without the mark; the format allows it.
    end = b"\xff\xff\xff\xff\0\0\0\0"
    whole = stream.read_bytes()
    assert whole.endswith(end)
    expected = '{"id":"a","text":"rye bread"}\n{"id":"b","text":"wheat"}\n'
    assert kept_lines(command, stream) == expected
    stream.write_bytes(whole.removesuffix(end))
    for path in (arrow, stream):
        assert kept_lines(command, path) == expected
    command("dedup", parquet, "-o", tmp_path / "kept.parquet", "--quiet")
    assert pq.read_table(tmp_path / "kept.parquet").equals(rows)


@pytest.mark.parametrize("codec", ["uncompressed", "lz4", "zstd"])
@pytest.mark.parametrize("level", ["oldest", "newest"])
def test_files_of_polars(codec: Any, level: Any, tmp_path: pathlib.Path, command: Callable[..., bytes]) -> None:
    rows = polars.from_arrow(table().select(["id", "text", "i8", "u64", "good", "f64", "keys", "large", "day", "list"]))
    assert isinstance(rows, polars.DataFrame)
    rows.write_parquet(tmp_path / "rows.parquet")
    rows.write_ipc(tmp_path / "rows.arrow", compression=codec, compat_level=getattr(polars.CompatLevel, level)())
    assert kept_lines(command, tmp_path / "rows.arrow") == kept_lines(command, tmp_path / "rows.parquet")


def test_a_path_is_read_as_its_table_is(tmp_path: pathlib.Path) -> None:
    rows = table()
    path = tmp_path / "x.feather"
    with pa.ipc.new_file(str(path), rows.schema) as out:
        out.write_table(rows, max_chunksize=100)
    of_file = quern.dedup(str(path), threshold=0.5)
    assert of_file.keep.tolist() == quern.dedup(rows["text"], threshold=0.5).keep.tolist()
