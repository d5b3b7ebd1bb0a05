# SPDX-License-Identifier: Apache-2.0
"""The functions of docs/how-to/spark.md: over batches of pyarrow, and in Spark itself where it is installed and starts."""

from __future__ import annotations

import importlib.util
import pathlib
import re
import sys
import types

import pytest
import quern

pyarrow = pytest.importorskip("pyarrow", reason="needs pyarrow")


@pytest.fixture
def recipe(source: pathlib.Path, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> types.ModuleType:
    """The block of the page, as the file recipe.py."""
    page = (source / "docs" / "how-to" / "spark.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```$", page, re.M | re.S)
    assert len(blocks) == 1
    file = tmp_path / "recipe.py"
    file.write_text(blocks[0], encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    spec = importlib.util.spec_from_file_location("recipe", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "recipe", module)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def table() -> pyarrow.Table:
    """Some documents pass, some do not, some have an address."""
    good = "The mill stands by the river, and the miller grinds corn of the valley with two stones that turn all day."
    texts = []
    for i in range(2000):
        text = f"{good} It was built in the year {1300 + i}. " * 6
        texts.append(("short", text, text + f"Write to joe{i}@mills.org for a visit.", "lorem ipsum " * 80)[i % 4])
    return pyarrow.table({"id": [f"d{i}" for i in range(len(texts))], "text": texts, "bytes": [len(t) for t in texts]})


@pytest.mark.parametrize("kind", ["string", "large_string"])
@pytest.mark.parametrize("rows", [1, 300, 2000])
def test_batches_of_any_size_give_the_rows_of_one_call(recipe, table, kind, rows):
    table = table.set_column(1, "text", table["text"].cast(getattr(pyarrow, kind)()))
    batches = table.slice(0, 200 if rows == 1 else 2000).to_batches(max_chunksize=rows)
    empty = table.schema.empty_table().to_batches() or [pyarrow.RecordBatch.from_pylist([], schema=table.schema)]
    found = pyarrow.Table.from_batches(list(recipe.clean(iter([*empty, *batches]))))
    whole = quern.filter(pyarrow.Table.from_batches(batches), rules="gopher-quality,c4", mask="emails", return_texts=True)
    assert found.schema == table.schema
    assert found["text"].to_pylist() == whole.texts
    assert 0 < found.num_rows < sum(batch.num_rows for batch in batches)
    assert found["id"].to_pylist() == [name for name, keep in zip(table["id"].to_pylist(), whole.keep, strict=False) if keep]
    assert any("email@example.com" in text for text in whole.texts)


def test_signatures_are_a_column_more(recipe, table):
    batches = [pyarrow.RecordBatch.from_pylist([], schema=table.schema), *table.to_batches(max_chunksize=700)]
    found = pyarrow.Table.from_batches(list(recipe.signed(iter(batches))))
    assert found.select(table.schema.names).equals(table)
    assert found["signature"].to_pylist() == list(quern.signatures(table["text"])["signature"])


def test_in_spark(recipe, table, tmp_path):
    sql = pytest.importorskip("pyspark.sql", reason="needs pyspark")
    try:
        spark = (sql.SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
                 .config("spark.sql.execution.arrow.maxRecordsPerBatch", "150").getOrCreate())
    except Exception as why:  # it needs Java
        pytest.skip(f"Spark does not start here: {why}")
    try:
        spark.sparkContext.addPyFile(str(tmp_path / "recipe.py"))
        frame = spark.createDataFrame(table.to_pandas())
        rows = frame.mapInArrow(recipe.clean, frame.schema).collect()
        whole = quern.filter(table, rules="gopher-quality,c4", mask="emails", return_texts=True)
        assert sorted(row["text"] for row in rows) == sorted(whole.texts)
        signed = frame.mapInArrow(recipe.signed, sql.types.StructType([*frame.schema]).add("signature", "string")).count()
        assert signed == table.num_rows
    finally:
        spark.stop()
