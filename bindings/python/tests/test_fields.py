# SPDX-License-Identifier: Apache-2.0
"""Fields of records: named ones, and those that a store keeps, against Python's json."""

import datetime
import decimal
import json
import math
import pathlib
import subprocess

import duckdb
import numpy
import pandas
import polars
import pyarrow
import pyarrow.parquet
import pytest
import quern
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

ROWS = [
    {"sku": "a", "note": "Green apples.", "price": 1.5, "tags": ["x", "y"], "day": datetime.date(2024, 5, 1)},
    {"sku": "b", "note": "Yellow pears.", "price": 2.0, "tags": [], "day": None},
    {"sku": "c", "note": "Bees on apple trees.", "price": math.nan, "tags": ["z"], "day": datetime.date(2024, 6, 1)},
]
names = st.text(st.sampled_from("abé.\"\\\n"), min_size=1, max_size=3)
leaves = st.none() | st.booleans() | st.integers(-(10**20), 10**20) | st.floats(allow_nan=False, allow_infinity=False)
values = st.recursive(leaves | st.text(max_size=5).filter(lambda s: s.isprintable()),
                      lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3), max_leaves=6)
objects = st.lists(st.dictionaries(names, values, max_size=5), min_size=1, max_size=12)


def type_of(values):
    """The type of a field, by the table of docs/build.md."""
    kinds = {kind_of(value) for value in values if value is not None}
    if not kinds:
        return "text"
    if kinds <= {"integer", "number"}:
        return "number" if "number" in kinds else "integer"
    if kinds <= {"text", "list"}:
        return "list" if "list" in kinds else "text"
    if len(kinds) == 1:
        return kinds.pop()
    return "text" if kinds <= {"boolean", "integer", "number", "text"} else "json"


def kind_of(value):
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "integer" if -(2**63) <= value < 2**63 else "number"
    if isinstance(value, float):
        return "number"
    if isinstance(value, str):
        return "text"
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        return "list"
    return "json"


def built(path, documents, **options):
    return quern.build(documents, str(path), skip="all", force=True, progress=False, **options).store


def properties(program, store):
    lines = subprocess.run([program, "info", store, "--format", "tsv"], capture_output=True, text=True, check=True)
    return dict(line.split("\t") for line in lines.stdout.splitlines())


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(objects, st.booleans(), st.integers(0, 3))
def test_kept_fields_are_those_of_json(tmp_path, records, ascii_only, indent):
    file = tmp_path / "in.jsonl"
    for number, record in enumerate(records):
        record["id"], record["text"] = str(number), "a text"
    with open(file, "w", encoding="utf-8") as out:
        for record in records:
            out.write(json.dumps(record, ensure_ascii=ascii_only, separators=("," + " " * indent, ":" + " " * indent)) + "\n")
    store = built(tmp_path / "store", file, keep_fields="all")
    kept = [{name: value for name, value in record.items() if name not in ("id", "text")} for record in records]
    assert [store.document(i).fields for i in range(len(records))] == kept
    # The same from memory.
    store = built(tmp_path / "other", records, keep_fields="all")
    assert [store.document(i).fields for i in range(len(records))] == kept


def test_types(tmp_path, program):
    columns = {
        "boolean": [True, None, False], "integer": [1, -(2**63), None], "number": [1, 2.5, 2**70],
        "date": ["2024-02-29", "2024-05-01T12:30:00.5+02:00", "1969-12-31 23:59Z"], "plain": ["2024-02-29", "2023-02-29", ""],
        "list": ["a", ["b", "c"], []], "various": [1, "1", None], "json": [["a"], 1, None], "other": [{}, [1], None], "nothing": [None, None, None],
        "mixed": [True, 1, None],
    }
    rows = [dict(id=str(i), text="t", **{name: values[i] for name, values in columns.items()}) for i in range(3)]
    built(tmp_path / "store", rows, keep_fields="all")
    found = properties(program, tmp_path / "store")
    expected = {"plain": "text", "various": "text", "other": "json", "nothing": "text", "mixed": "text"}
    for name, values in columns.items():
        assert found[f"field.{name}.type"] == expected.get(name, name)
        assert found[f"field.{name}.documents"] == str(sum(value is not None for value in values))
        if name not in ("date", "plain", "other", "nothing", "mixed"):
            assert type_of(values) == expected.get(name, name)
    assert found["field.list.values"] == "3"
    subprocess.run([program, "verify", tmp_path / "store", "--quiet"], check=True)


@pytest.mark.parametrize("make", [list, lambda rows: pandas.DataFrame(rows), lambda rows: pyarrow.Table.from_pylist(rows),
                                  lambda rows: polars.DataFrame(rows)])
def test_memory(tmp_path, make):
    options = {"id_field": "sku", "text_field": "note"}
    store = built(tmp_path / "store", make(ROWS), keep_fields=["price", "day", "tags"], **options)
    hit = store.search("green")[0]
    assert hit.id == "a" and hit.fields["price"] == 1.5 and list(hit.fields["tags"]) == ["x", "y"]
    assert hit.fields["day"].startswith("2024-05-01")
    assert store.document("c").fields["price"] is None
    assert hit.to_dict()["fields"] == hit.fields
    assert built(tmp_path / "none", make(ROWS), **options).search("green")[0].fields == {}


def test_values_without_a_form_in_json(tmp_path):
    rows = [{"text": "t", "n": numpy.float32(1.5), "t": (1, 2), "s": set("edcba"), "p": pathlib.PurePosixPath("a/b")}]
    expected = {"n": 1.5, "t": [1, 2], "s": ["a", "b", "c", "d", "e"], "p": "a/b"}
    assert built(tmp_path / "store", rows, keep_fields="all").document(0).fields == expected
    for value, name in ((b"x", "bytes"), (memoryview(b"x"), "memoryview"), (object(), "object"), (len, "builtin_function_or_method")):
        with pytest.raises(quern.UsageError, match=f"keep_fields: a value of b has no form in JSON: {name}"):
            built(tmp_path / "other", [{"text": "t", "b": value}], keep_fields="all")


@pytest.mark.parametrize("make", [list, lambda rows: pandas.DataFrame(rows), lambda rows: pyarrow.Table.from_pylist(rows),
                                  lambda rows: duckdb.from_arrow(pyarrow.Table.from_pylist(rows))])
def test_decimals_are_numbers(tmp_path, make):
    rows = [{"id": id, "text": "t", "price": decimal.Decimal(price)} for id, price in (("a", "9.50"), ("b", "10.00"), ("c", "-1"))]
    store = built(tmp_path / "store", make(rows), keep_fields="all")
    assert [store.document(id).fields["price"] for id in "abc"] == [9.5, 10, -1]
    assert [hit.id for hit in store.search("*", filter="price > 0", sort="-price")] == ["b", "a"]


def test_one_text_is_a_list_of_names(tmp_path):
    rows = [{"id": "a", "note": "One.", "more": "Two.", "price": 1, "tag": "x"}]
    store = built(tmp_path / "store", rows, text_field="note,more", keep_fields="price,tag")
    assert store.document("a").text == "One.\n\nTwo." and store.document("a").fields == {"price": 1, "tag": "x"}
    store = built(tmp_path / "indexed", rows, text_field="note", index_fields="more,tag")
    assert store.count_matches("more:two") == store.count_matches("tag:x") == 1


def test_decimals_beyond_numbers(tmp_path):
    rows = [{"text": "t", "n": decimal.Decimal(n)} for n in ("NaN", "-Infinity", "123456789012345678901234567890")]
    store = built(tmp_path / "store", rows, keep_fields="n")
    assert [store.document(n).fields for n in range(3)] == [{"n": None}, {"n": None}, {"n": 123456789012345678901234567890}]


def test_names_for_files_and_several_texts(tmp_path):
    file = tmp_path / "in.jsonl"
    file.write_text('{"url":"u","head":"One","m":{"body":"two"},"to":["v"]}\n')
    store = built(tmp_path / "store", file, id_field="url", text_field=["head", "m.body"], link_field="to")
    assert store.document("u").text == "One\n\ntwo"
    with pytest.raises(quern.Error, match="no record has a field .heading. ..title_field"):
        quern.dedup(file, text_field="head", title_field="heading")
    rows = [{"url": "u", "head": "One", "body": "two", "to": ["v"]}, {"url": "v", "head": "", "body": "three", "to": []}]
    store = built(tmp_path / "memory", rows, id_field="url", text_field=["head", "body"], link_field="to")
    assert [store.document(i).text for i in range(2)] == ["One\n\ntwo", "three"]
    table = pyarrow.Table.from_pylist([{"head": "One", "body": "two"}, {"head": None, "body": "three"}])
    assert quern.dedup(table, text_field=["head", "body"]).text(0) == "One\n\ntwo"
    with pytest.raises(quern.UsageError, match="text_field: there is no field 'x'"):
        quern.dedup(rows, text_field=["head", "x"])


def test_update(tmp_path):
    path = tmp_path / "store"
    built(path, [{"id": "a", "text": "t", "n": 1}], keep_fields=["n"])
    store = quern.build([{"id": "b", "text": "u", "n": 2, "m": 3}], str(path), update=True, progress=False).store
    assert [store.document(i).fields for i in range(2)] == [{"n": 1}, {"n": 2}]
    with pytest.raises(quern.UsageError, match="keep_fields: cannot be combined with update"):
        quern.build([{"id": "c", "text": "u"}], str(path), update=True, keep_fields="all", progress=False)


PAPERS = [
    {"id": "a", "title": "Stones", "text": "Of mills.", "summary": "How grain is ground.", "tags": ["hand mill", "stone age"]},
    {"id": "b", "title": "Grain", "text": "Grain, and more grain.", "summary": "A list.", "tags": ["water"]},
    {"id": "c", "title": "Water", "text": "A mill by the river.", "summary": None, "tags": None},
]


@pytest.mark.parametrize("make", [list, lambda rows: pandas.DataFrame(rows), lambda rows: pyarrow.Table.from_pylist(rows),
                                  lambda rows: polars.DataFrame(rows)])
def test_indexed_fields(tmp_path, make):
    store = built(tmp_path / "store", make(PAPERS), index_fields=["summary", "tags"], keep_fields="tags")
    assert [hit.id for hit in store.search("summary:grain")] == ["a"]
    assert [hit.id for hit in store.search('tags:"hand mill" OR tags:water', field_weights="tags=3")] == ["b", "a"]
    assert not store.search('tags:"mill stone"')
    assert [hit.id for hit in store.search("grain", field_weights="summary=50")] == ["a", "b"]
    assert store.search("grain", field_weights={"summary": 50, "tags": 0.5}) == store.search(
        "grain", field_weights="summary=50,tags=0.5")
    assert [hit.id for hit in store.search("grain", field_weights="summary=0.01", field_b="tags=0")] == ["b", "a"]
    with pytest.raises(quern.UsageError, match="unknown field 'x' .expected title, summary, tags or text"):
        store.search("grain", field_weights="x=2")
    assert store.document("a").fields["summary"] == "How grain is ground."


def test_indexed_fields_of_files(tmp_path, program):
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(PAPERS), tmp_path / "in.parquet")
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in PAPERS))
    found = {}
    for form in ("parquet", "jsonl"):
        store = built(tmp_path / form, tmp_path / f"in.{form}", index_fields=["summary", "tags"], keep_fields="all")
        found[form] = [(hit.id, hit.score) for hit in store.search("grain tags:mill", field_weights="tags=2,summary=3")]
        assert properties(program, tmp_path / form)["indexed_fields"] == "summary,tags"
    assert found["parquet"] == found["jsonl"] and len(found["jsonl"]) == 2


def test_indexed_fields_of_a_store_that_changes(tmp_path):
    path = tmp_path / "store"
    built(path, PAPERS[:1], index_fields="tags")
    store = quern.build(PAPERS[1:], str(path), update=True, progress=False).store
    assert [hit.id for hit in store.search("tags:water")] == ["b"]
    with pytest.raises(quern.UsageError, match="index_fields: cannot be combined with update"):
        quern.build(PAPERS, str(path), update=True, index_fields=["tags"], progress=False)
    with pytest.raises(quern.UsageError, match="index_fields: 'text' is the name of a part"):
        built(tmp_path / "other", PAPERS, index_fields="text")


def test_filter_sort_and_facets(tmp_path, program):
    rows = [{"id": str(n), "text": "apples and pears" if n % 2 else "apples", "n": n, "price": (n % 7) / 2,
             "tag": [f"t{n % 3}", "all"], "day": f"2024-{n % 12 + 1:02}-01"} for n in range(200)]
    for row in rows[::5]:
        del row["price"]
    store = built(tmp_path / "store", rows, keep_fields="all")
    whole = store.search("apples pears", k=200)
    passing = {row["id"] for row in rows if row.get("price", 9) < 2 and "t1" in row["tag"]}
    found = store.search("apples pears", k=200, filter="price < 2 AND tag = t1", total=True)
    assert [(hit.id, hit.score) for hit in found] == [(hit.id, hit.score) for hit in whole if hit.id in passing]
    assert found.total == len(passing) == store.count_matches("apples pears", filter="price < 2 AND tag = t1")
    by_price = store.search("*", k=200, sort="-price,n", filter="day = 2024-05 OR day > 2024-11")
    expected = sorted((row for row in rows if row["day"] == "2024-05-01" or row["day"] > "2024-11-30"),
                      key=lambda row: ("price" not in row, -row.get("price", 0), row["n"]))
    assert [hit.id for hit in by_price] == [row["id"] for row in expected]
    facets = store.search("pears", k=1, facets="tag,price", facet_values=2).facets
    assert facets["tag"]["values"][0] == {"value": "all", "documents": 100}
    assert (facets["price"]["min"], facets["price"]["max"]) == (0, 3)
    assert store.search("pears").facets == {}
    assert store.search("pears", k=1, facets=["tag", "price"], facet_values=2).facets == facets
    assert store.search("*", k=5, sort=("-price", "n")) == store.search("*", k=5, sort="-price,n")
    with pytest.raises(quern.UsageError, match="facets"):
        store.search("pears", facets=[1])
    assert store.explain("pears", "1", filter="n = 1")[0].rank == 1
    run = store.search_many({"q": "pears"}, filter="n < 10")
    assert sorted(run["q"]) == ["1", "3", "5", "7", "9"]
    with pytest.raises(quern.UsageError, match="there is no field 'prise'; did you mean 'price'") as caught:
        store.search("apples", filter="n = 1 AND prise < 3")
    assert caught.value.position == 10
    with pytest.raises(quern.UsageError, match="expected the name of a field"):
        store.search("apples", filter=" ")
    with pytest.raises(quern.UsageError, match="has no order"):
        store.search("apples", sort="tag")
    with pytest.raises(TypeError, match="sort"):
        store.search_many({"q": "pears"}, sort="n")
    lines = subprocess.run([program, "search", tmp_path / "store", "apples", "--filter", "tag = t2", "--format", "tsv"],
                           capture_output=True, text=True, check=True).stdout
    assert [line.split("\t")[1] for line in lines.splitlines()] == [hit.id for hit in store.search("apples", filter="tag = t2")]
