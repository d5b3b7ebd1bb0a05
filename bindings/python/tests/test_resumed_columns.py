# SPDX-License-Identifier: Apache-2.0
"""Shards of Parquet and Arrow: runs that are killed at random moments and resumed write the bytes of one run, and what a file
with all rows gives. QUERN_LONG: 20 trials instead of one."""

import os
import pathlib
import random
import shutil
import signal
import subprocess
import time
from collections.abc import Callable

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

WORDS = [f"w{i}" for i in range(2000)]
ITEM = "how many sacks of corn does the mill by the river grind between dawn and dusk in a week"
TRIALS = 20 if os.environ.get("QUERN_LONG") else 1
RUNS = {
    "dedup": (["dedup", "--threshold", "0.02"], "--groups"),
    "filter": (["filter", "--rules", "gopher-quality.min-words=120,gopher-repetition"], "--removed"),
    "decontaminate": (["decontaminate", "--against", "items.jsonl"], "--matches"),
}
BUILD = ["build", "--skip", "thesaurus,vectors", "--keep-fields", "all", "--quiet"]


def table_of(shard: int, count: int) -> pa.Table:
    chance = random.Random(shard)
    rows = []
    for i in range(count):
        seed = chance.randrange(40) if chance.random() < 0.3 else 1000 * (shard + 1) + i
        words = " ".join(random.Random(seed).choices(WORDS, k=100 + seed % 60))
        text = f"{words} {ITEM}" if chance.random() < 0.1 else words
        rows.append({"id": f"{shard}-{i}", "text": text, "n": i, "tags": ["t"] * (i % 3)})
    return pa.Table.from_pylist(
        rows, schema=pa.schema({"id": "string", "text": "string", "n": "int64", "tags": pa.list_(pa.string())})
    )


@pytest.fixture(params=["parquet", "arrow"])
def shards(request: pytest.FixtureRequest, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A hundred shards in `in`, and all rows in one file, `one`. Some shards are empty."""
    monkeypatch.chdir(tmp_path)
    pathlib.Path("in").mkdir()
    tables = [table_of(shard, [12, 0, 7, 20, 1][shard % 5]) for shard in range(100)]
    for shard, table in enumerate([*tables, pa.concat_tables(tables)]):
        name = f"in/s{shard:02d}.{request.param}" if shard < 100 else f"one.{request.param}"
        if request.param == "parquet":
            pq.write_table(table, name, compression=["zstd", "snappy", "gzip", "none"][shard % 4], row_group_size=30)
        else:
            with (
                pa.OSFile(name, "wb") as to,
                pa.ipc.new_file(
                    to, table.schema, options=pa.ipc.IpcWriteOptions(compression=["zstd", "lz4", None][shard % 3])
                ) as writer,
            ):
                writer.write_table(table, max_chunksize=30)
    pathlib.Path("items.jsonl").write_text(f'{{"id":"q","text":"{ITEM}"}}\n')
    return request.param


def files_of(folder: str) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes() for path in pathlib.Path(folder).rglob("*") if path.is_file()
    }


def index_of(store: str) -> dict[str, bytes]:
    """Its files without the times of the build."""
    return {name: content for name, content in files_of(store).items() if name != "stats.json"}


def rows_of(folder: str, form: str, name: str) -> bytes:
    """Of all outputs one after the other, or of one file."""
    if form == "arrow":
        return b"".join(path.read_bytes() for path in sorted(pathlib.Path(folder).glob(name)))
    tables = [pq.read_table(path) for path in sorted(pathlib.Path(folder).glob(name))]
    return repr(pa.concat_tables(tables).to_pylist()).encode()


def kill_until_done(arguments: list[str], seconds: float) -> int:
    """Runs the command again until it ends, and kills the first four tries: the first early in `seconds`, its usual time, the
    others at any moment of it. Returns the kills."""
    kills = 0
    for attempt in range(20):
        running = subprocess.Popen(arguments, stderr=subprocess.PIPE)
        pause = random.random() * seconds * (0.2 if attempt == 0 else 0.9)
        try:
            message = running.communicate(timeout=pause if attempt < 4 else None)[1]
        except subprocess.TimeoutExpired:
            running.kill()
            message = running.communicate()[1]
            kills += running.returncode == -signal.SIGKILL
        if running.returncode == 0:
            return kills
        assert running.returncode == -signal.SIGKILL, message.decode()
    raise AssertionError("not done after 20 tries")


def time_of(run: Callable[[], object]) -> float:
    start = time.monotonic()
    run()
    return time.monotonic() - start


@pytest.mark.parametrize("what", RUNS)
def test_killed_and_resumed(what: str, shards: str, program: str, command: Callable[..., bytes]) -> None:
    arguments, rows = RUNS[what]
    arguments = [*arguments, "--threads", "2", "--quiet"]
    seconds = time_of(lambda: command(*arguments, "in", "-o", "whole/", rows, "whole.tsv"))
    expected = files_of("whole")
    command(*arguments, f"one.{shards}", "-o", "one_out/", rows, "one.tsv")
    assert pathlib.Path("whole.tsv").read_bytes() == pathlib.Path("one.tsv").read_bytes() != b""
    assert rows_of("whole", shards, "s*") == rows_of("one_out", shards, "one*")

    kills = 0
    for _ in range(TRIALS):
        shutil.rmtree("out", ignore_errors=True)
        resumed = [program, *arguments, "in", "-o", "out/", "--resume", rows, "out.tsv", "--force"]
        kills += kill_until_done(resumed, seconds)
        assert files_of("out") == expected
        assert pathlib.Path("out.tsv").read_bytes() == pathlib.Path("whole.tsv").read_bytes()
        assert not [path for path in pathlib.Path().glob(".out.quern*")]
    print(kills, "kills")
    assert kills > 0


def test_a_killed_build_is_that_of_one_file(shards: str, program: str, command: Callable[..., bytes]) -> None:
    command(*BUILD, f"one.{shards}", "-o", "of_one")
    expected = index_of("of_one")
    seconds = time_of(lambda: command(*BUILD, "in", "-o", "of_shards"))
    assert index_of("of_shards") == expected

    kills = 0
    for _ in range(TRIALS):
        shutil.rmtree("killed", ignore_errors=True)
        kills += kill_until_done([program, *BUILD, "in", "-o", "killed"], seconds)
        assert index_of("killed") == expected
        assert not [path for path in pathlib.Path().glob(".killed*")]
    print(kills, "kills")
    assert kills > 0
