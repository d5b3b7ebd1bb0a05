# SPDX-License-Identifier: Apache-2.0
"""Parquet files of kept documents, as pyarrow reads them: columns of every kind, nested too, in a hundred shards."""

import datetime
import decimal
import json
import pathlib
import random
from collections.abc import Callable

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import quern

SCHEMA = pa.schema(
    [
        pa.field("id", pa.string()),
        pa.field("text", pa.string()),
        pa.field("url", pa.string()),
        pa.field("n", pa.int32(), nullable=False),
        pa.field("f", pa.float32()),
        pa.field("yes", pa.bool_()),
        pa.field("tags", pa.list_(pa.string())),
        pa.field(
            "meta",
            pa.struct(
                [
                    ("lang", pa.string()),
                    ("score", pa.float64()),
                    ("deep", pa.list_(pa.struct([("k", pa.int8()), ("v", pa.list_(pa.int64()))]))),
                ]
            ),
        ),
        pa.field("map", pa.map_(pa.string(), pa.int64())),
        pa.field("price", pa.decimal128(12, 2)),
        pa.field("day", pa.date32()),
        pa.field("at", pa.timestamp("us", tz="UTC")),
        pa.field("bytes", pa.binary()),
        pa.field("four", pa.binary(4)),
        pa.field("nothing", pa.null()),
        pa.field("kind", pa.dictionary(pa.int8(), pa.string())),
    ],
    metadata={"huggingface": '{"info": {"features": {}}}', "other": "ä"},
)
CODECS = ["snappy", "zstd", "gzip", "lz4", "none"]


def rows(first: int, count: int) -> list[dict]:
    chance = random.Random(first)
    made = []
    for i in range(first, first + count):
        of = i if chance.random() < 0.7 else chance.randrange(max(1, i))
        made.append(
            {
                "id": str(i),
                "text": f"Document {of} with the words {of * 7919} and {of * 104729}, of its own kind {of}",
                "url": None if i % 5 == 0 else f"http://example.org/{i % 9}",
                "n": i,
                "f": i / 3,
                "yes": None if i % 4 == 0 else bool(i % 2),
                "tags": None if i % 6 == 0 else [f"t{j}" if j % 3 else None for j in range(i % 5)],
                "meta": None
                if i % 8 == 0
                else {
                    "lang": ["en", "de", None][i % 3],
                    "score": None if i % 9 == 0 else i * 0.5,
                    "deep": [{"k": j, "v": [j] * (j % 3)} for j in range(i % 4)],
                },
                "map": [(f"k{j}", j) for j in range(i % 3)],
                "price": decimal.Decimal(i) / 100,
                "day": datetime.date(2020, 1, 1) + datetime.timedelta(days=i),
                "at": datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC) + datetime.timedelta(seconds=i),
                "bytes": bytes([i % 256]) * (i % 4),
                "four": bytes([i % 256]) * 4,
                "nothing": None,
                "kind": "abc"[i % 3],
            }
        )
    return made


@pytest.fixture
def shards(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    """A hundred shards of different sizes and forms, some of them empty."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "in"
    folder.mkdir()
    first = 0
    for shard in range(100):
        count = [11, 0, 3, 1, 20][shard % 5]
        table = pa.Table.from_pylist(rows(first, count), schema=SCHEMA)
        first += count
        pq.write_table(
            table,
            folder / f"s{shard:02d}.parquet",
            compression=CODECS[shard % 5],
            row_group_size=[50, 1000, 7][shard % 3],
            data_page_version=["1.0", "2.0"][shard % 2],
            use_dictionary=shard % 4 != 3,
        )
    return folder


def test_shards_keep_their_form_and_give_what_one_file_gives(shards: pathlib.Path, command: Callable[..., bytes]) -> None:
    command("dedup", "in/*", "-o", "out/", "--groups", "groups.tsv", "--quiet")
    lines = [line.split("\t") for line in pathlib.Path("groups.tsv").read_text().splitlines()]
    dropped = {line[1] for line in lines if line[2] == "0"}
    assert len(dropped) > 50
    whole, kept = [], []
    for path in sorted(shards.iterdir()):
        before = pq.ParquetFile(path)
        after = pq.ParquetFile(pathlib.Path("out") / path.name)
        table = before.read()
        expected = table.filter(pa.array([one not in dropped for one in table["id"].to_pylist()], pa.bool_()))
        found = after.read()
        assert found.schema.equals(table.schema, check_metadata=True)
        assert found.to_pylist() == expected.to_pylist()
        assert after.metadata.num_row_groups <= max(1, before.metadata.num_row_groups)
        if found.num_rows:
            was, now = (file.metadata.row_group(0).column(0).compression for file in (before, after))
            assert now == was
        whole.append(table)
        kept.append(found)

    # One file with the same rows.
    pq.write_table(pa.concat_tables(whole), "one.parquet")
    command("dedup", "one.parquet", "-o", "kept.parquet", "--groups", "of_one.tsv", "--quiet")
    assert pathlib.Path("of_one.tsv").read_bytes() == pathlib.Path("groups.tsv").read_bytes()
    one = pq.read_table("kept.parquet")
    assert one.schema.equals(pq.read_schema("one.parquet"), check_metadata=True)
    assert one.to_pylist() == pa.concat_tables(kept).to_pylist()
    command("dedup", "in/*", "-o", "joined.parquet", "--quiet")
    assert pq.read_table("joined.parquet").to_pylist() == one.to_pylist()

    # The same of the other commands that keep documents, from shards and none of whose documents stay, too.
    pathlib.Path("test.jsonl").write_text(json.dumps({"id": "q", "text": one["text"][3].as_py()}) + "\n")
    for made in (
        ["filter", "in/*", "--rules", "length.max-characters=66", "--removed"],
        ["filter", "in/*", "--rules", "length.min-words=100000", "--removed"],
        ["decontaminate", "in/*", "--against", "test.jsonl", "--ngram", "5", "--overlap", "0.3", "--matches"],
    ):
        command(*made, "rows.tsv", "-o", "some.parquet", "--quiet", "--force")
        at = 0 if made[0] == "filter" else 1
        gone = {line.split("\t")[at] for line in pathlib.Path("rows.tsv").read_text().splitlines()}
        some = pq.read_table("some.parquet")
        assert some.schema.equals(one.schema, check_metadata=True)
        assert gone and some.to_pylist() == [row for row in pa.concat_tables(whole).to_pylist() if row["id"] not in gone]
    assert quern.filter("in/*", rules="length.min-words=100000", output="all.parquet").keep.sum() == 0
    assert pq.read_table("all.parquet").num_rows == 0
    with pytest.raises(quern.UsageError, match="changes the text"):
        quern.filter("in/*", rules="c4.min-line-words=1000", output="changed.parquet")

    command("build", "in", "-o", "of_shards", "--skip", "all", "--quiet")
    command("build", "one.parquet", "-o", "of_one", "--skip", "all", "--quiet")
    for file in pathlib.Path("of_one").iterdir():
        if file.name != "stats.json":
            assert (pathlib.Path("of_shards") / file.name).read_bytes() == file.read_bytes(), file.name


def test_all_rows_and_none(tmp_path: pathlib.Path, command: Callable[..., bytes]) -> None:
    table = pa.Table.from_pylist(rows(0, 30)[:1] * 3, schema=SCHEMA)
    ids = pa.array(["a", "b", "c"])
    table = table.set_column(0, SCHEMA.field(0), ids)
    pq.write_table(table.slice(0, 1), tmp_path / "first.parquet")
    pq.write_table(table.slice(1), tmp_path / "second.parquet")
    command("dedup", tmp_path / "first.parquet", tmp_path / "second.parquet", "-o", f"{tmp_path}/out/", "--quiet")
    assert pq.read_table(tmp_path / "out/first.parquet").equals(table.slice(0, 1))
    empty = pq.read_table(tmp_path / "out/second.parquet")
    assert empty.num_rows == 0
    assert empty.schema.equals(pq.read_schema(tmp_path / "second.parquet"), check_metadata=True)


def test_a_large_row_group_stays_within_memory(tmp_path: pathlib.Path, command: Callable[..., bytes]) -> None:
    count = 3000
    texts = [f"{i} " + random.Random(i).randbytes(2000).hex() for i in range(count)]
    table = pa.table({"id": [str(i) for i in range(count)], "text": texts, "more": [[text] * 3 for text in texts]})
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=count, use_dictionary=False)
    command(
        "dedup", tmp_path / "a.parquet", "-o", tmp_path / "b.parquet", "--method", "signature", "--memory", "128M", "--quiet"
    )
    assert pq.read_table(tmp_path / "b.parquet").equals(table)
