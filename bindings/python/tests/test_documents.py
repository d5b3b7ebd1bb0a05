# SPDX-License-Identifier: Apache-2.0
"""Documents in memory, in every form, read as they are."""

import collections
import os
import pathlib

import duckdb
import numpy
import pandas
import polars
import pyarrow
import pytest
import quern
from hypothesis import given
from hypothesis import strategies as st
from quern import _quern

TEXTS = ["The miller grinds the corn at dawn.", "Salt comes from the sea.", "The miller grinds the corn at dusk.",
         "äöü 漢字 " * 5, ""]
IDS = ["a", "b", "c", "d", "e"]


def read(documents, **options):
    """The (id, text) that the library reads."""
    result = quern.dedup(documents, **options)
    ids = quern.signatures(documents, **options)["id"] if not isinstance(documents, collections.abc.Iterator) else None
    return ids, [result.text(i) for i in range(result.documents)]


def expect_texts(documents, **options):
    assert read(documents, **options)[1] == TEXTS


def expect_all(documents, **options):
    assert read(documents, **options) == (IDS, TEXTS)


def test_iterables():
    expect_texts(TEXTS)
    expect_texts(tuple(TEXTS))
    expect_texts(text for text in TEXTS)
    expect_all(list(zip(IDS, TEXTS)))
    expect_texts(dict(zip(IDS, TEXTS)).values())


def test_mappings():
    expect_all([{"id": i, "text": t} for i, t in zip(IDS, TEXTS)])
    expect_all([{"_id": i, "contents": t, "other": 3} for i, t in zip(IDS, TEXTS)])
    expect_all([{"name": i, "note": t, "text": "not this"} for i, t in zip(IDS, TEXTS)], text_field="note", id_field="name")
    expect_all({"id": IDS, "text": TEXTS})
    expect_texts([collections.OrderedDict(text=t) for t in TEXTS])
    mixed = [{"text": TEXTS[0], "id": "a"}, {"id": "b", "content": TEXTS[1]}, *zip(IDS[2:], TEXTS[2:])]
    expect_all(mixed)
    assert quern.signatures([{"id": 17, "text": "x"}])["id"] == ["17"]


@pytest.mark.parametrize("kind", [pyarrow.string(), pyarrow.large_string(), pyarrow.string_view(),
                                  pyarrow.dictionary(pyarrow.int8(), pyarrow.string()),
                                  pyarrow.dictionary(pyarrow.int64(), pyarrow.large_string())])
def test_arrow(kind):
    column = pyarrow.array(TEXTS).cast(kind) if kind != pyarrow.string_view() else pyarrow.array(TEXTS, kind)
    expect_texts(column)
    expect_texts(pyarrow.chunked_array([column.slice(0, 2), column.slice(2)]))
    expect_all(pyarrow.table({"id": IDS, "text": column}))
    expect_all(pyarrow.record_batch({"text": column, "id": pyarrow.array(IDS)}))
    table = pyarrow.table({"id": ["x", *IDS, "y"], "text": pyarrow.chunked_array([column.slice(0, 1), column, column.slice(0, 1)])})
    expect_all(table.slice(1, 5))
    reader = pyarrow.RecordBatchReader.from_batches(table.schema, iter(table.slice(1, 5).to_batches()))
    result = quern.dedup(reader)
    assert [result.text(i) for i in range(5)] == TEXTS


def test_arrow_numbers_are_ids():
    for kind in ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"):
        table = pyarrow.table({"id": pyarrow.array([1, 2, 3, 4, 100], kind), "text": TEXTS})
        assert quern.signatures(table)["id"] == ["1", "2", "3", "4", "100"]
    top = pyarrow.table({"id": pyarrow.array([2**64 - 1, 0], "uint64"), "text": ["a", "b"]})
    assert quern.signatures(top)["id"] == [str(2**64 - 1), "0"]
    with pytest.raises(quern.UsageError, match="column 'id' has the Arrow type"):
        quern.dedup(pyarrow.table({"id": [1.5], "text": ["a"]}))


def test_nulls_are_empty_texts():
    assert read(pyarrow.array(["a", None, "b"]))[1] == ["a", "", "b"]
    assert read([{"text": None}, {"text": "b"}])[1] == ["", "b"]
    sliced = pyarrow.array(["x"] * 9 + ["a", None, "b"]).slice(9)
    assert read(sliced)[1] == ["a", "", "b"]


def test_columns_without_values():
    """Libraries give them any type: pandas makes a text that is missing everywhere float64."""
    assert quern.dedup(pandas.DataFrame({"id": [], "text": []})).documents == 0
    assert quern.dedup(pyarrow.table({"text": pyarrow.array([], pyarrow.list_(pyarrow.binary()))})).documents == 0
    missing = pyarrow.table({"id": IDS[:2], "text": ["a", "b"], "title": pyarrow.array([None, None], pyarrow.float64())})
    assert quern.dedup(missing).documents == 2
    assert read(pandas.Series([float("nan")] * 2))[1] == ["", ""]


def test_frames():
    frame = pandas.DataFrame({"id": IDS, "text": TEXTS})
    expect_all(frame)
    expect_texts(frame["text"])
    expect_all(frame.set_index(pandas.Index([5, 4, 3, 2, 1])))
    expect_all(polars.DataFrame({"id": IDS, "text": TEXTS}))
    expect_texts(polars.Series(TEXTS))
    expect_all(polars.concat([polars.DataFrame({"id": IDS[:2], "text": TEXTS[:2]}),
                              polars.DataFrame({"id": IDS[2:], "text": TEXTS[2:]})], rechunk=False))
    relation = duckdb.from_df(frame)
    assert [quern.dedup(relation).text(i) for i in range(5)] == TEXTS


def test_a_dataset_of_hugging_face():
    class Dataset:
        __module__ = "datasets.arrow_dataset"

        class data:
            table = pyarrow.table({"id": IDS[::-1], "text": TEXTS[::-1]})

        _indices = pyarrow.table({"indices": [4, 3, 2, 1, 0]})

    expect_all(Dataset())


def test_frames_without_pyarrow(monkeypatch):
    from quern import _documents

    monkeypatch.setattr(_documents, "_has_pyarrow", lambda: False)
    frame = pandas.DataFrame({"id": IDS, "text": TEXTS})
    expect_all(frame)
    expect_texts(frame["text"])


@pytest.mark.parametrize(
    ("documents", "error", "message"),
    [
        (5, TypeError, "int is not supported"),
        (None, TypeError, "documents: None is not supported"),
        (b"bytes", TypeError, "not bytes"),
        (pandas.DataFrame(), quern.UsageError, "there are no fields"),
        (pyarrow.array([b"a"]), quern.UsageError, "column 'text' has the Arrow type binary"),
        (pyarrow.RunEndEncodedArray.from_arrays([1, 2], ["a", "b"]), quern.UsageError, "column 'text' has the Arrow type run_end_encoded"),
        (pyarrow.UnionArray.from_sparse(pyarrow.array([0, 1], pyarrow.int8()), [pyarrow.array(["a", "b"]), pyarrow.array([1, 2])]),
         quern.UsageError, "column 'text' has the Arrow type"),
        (polars.DataFrame({"text": ["a"]}).lazy(), TypeError, r"LazyFrame has no rows yet; give x.collect\(\)"),
        ([1], quern.UsageError, "document 1 is of type int"),
        (["a", ("x", 3)], quern.UsageError, "document 2: the field 'text' is of type int"),
        ([{"name": "x"}], quern.UsageError, "^no field has a usual name for the text.*expected one of name"),
        ([{"text": "x"}, {"name": "x"}], quern.UsageError, "^document 2: no field has a usual name for the text.*expected one of name"),
        ({"text": ["a"], "id": []}, quern.UsageError, "different numbers of values: text 1, id 0"),
        ([("a", "1"), ("a", "2")], quern.InvalidInput, "duplicate id"),
        (numpy.array([1.5]), quern.UsageError, "document 1 is of type"),
    ],
)
def test_what_is_refused(documents, error, message):
    with pytest.raises(error, match=message):
        quern.dedup(documents)


def test_ids_of_numpy_and_links_in_tuples(tmp_path):
    rows = [{"id": number, "text": f"page {number}", "links": ("7", 8)} for number in numpy.arange(7, 9)]
    store = quern.build(rows, tmp_path / "store", skip="all").store
    assert list(store.ids) == ["7", "8"]
    assert int(store.info["links"]) == 4
    with pytest.raises(quern.UsageError, match=r"document 1: the id is of type float64 .expected str or int"):
        quern.dedup([{"id": numpy.float64(1), "text": "a"}])


def test_messages_name_parameters(caplog):
    quern.dedup(["水", "石"], method="shingle", tokens="ascii")
    assert "(`tokens` …)" in caplog.text


def test_a_field_that_is_not_there():
    with pytest.raises(quern.UsageError, match="text_field: there is no field 'body' .expected one of id, text"):
        quern.dedup(pyarrow.table({"id": IDS, "text": TEXTS}), text_field="body")


def test_lone_surrogates_are_repaired(tmp_path):
    for text, expected in (("a\udc80b", "a\ufffdb"), ("é \ud83d 東", "é \ufffd 東"), ("\ud83d\udc4d", "👍")):
        store = quern.build([{"id": text, "text": text, "kept": text}], tmp_path / "store", keep_fields="all", force=True).store
        document = store.document(0)
        assert (document.id, document.text, document.fields["kept"]) == (expected,) * 3
        assert quern.dedup([text]).text(0) == expected
        stream = quern.DuplicateStream()
        assert stream.add_many([(text, text)])[0]["id"] == expected
        assert stream.query(text)["duplicates"][0]["id"] == expected
    with pytest.raises(TypeError, match="text must be a str, not NoneType"):
        quern.DuplicateStream().add(None)


def test_a_million_strings_of_arrow_are_read_where_they_are():
    column = pyarrow.array([f"document number {i}" for i in range(1_000_000)])
    data = column.buffers()[2]
    for row in (0, 1, 999_999):
        address = _quern._text_address(column, row)
        assert data.address <= address < data.address + data.size
        assert address - data.address == sum(len(f"document number {i}") for i in range(row)) or row > 10
    table = pyarrow.table({"text": column})
    assert _quern._text_address(table, 500_000) == _quern._text_address(column, 500_000)


@given(st.lists(st.text(max_size=20), min_size=1, max_size=8), st.integers(0, 3))
def test_random_texts_arrive_in_every_form(texts, cut):
    cut = min(cut, len(texts) - 1)
    expected = [text.encode("utf-8", "surrogatepass").decode("utf-8", "replace") for text in texts]
    if any("\0" in text for text in texts):
        expected = [quern.dedup([text]).text(0) for text in texts]
    clean = pyarrow.array(texts)
    for documents in (texts, clean, pyarrow.chunked_array([clean.slice(0, cut), clean.slice(cut)]),
                      pyarrow.array(texts, pyarrow.string_view()), polars.Series(texts)):
        result = quern.dedup(documents, threads=1)
        assert [result.text(i) for i in range(result.documents)] == expected


def test_null_rows_of_structs_and_columns_of_nulls() -> None:
    texts = pyarrow.array(["hello world text", "must not be read", "third text here"])
    rows = pyarrow.StructArray.from_arrays([texts], ["text"], mask=pyarrow.array([False, True, False]))
    assert [quern.dedup(rows).text(i) for i in range(3)] == ["hello world text", "", "third text here"]
    assert [quern.dedup(rows[1:]).text(i) for i in range(2)] == ["", "third text here"]
    frame = pyarrow.table({"text": ["aaa bbb", "ccc ddd"], "title": pyarrow.nulls(2)})
    assert quern.dedup(frame).documents == 2


def test_a_refused_array_is_released() -> None:
    before = pyarrow.total_allocated_bytes()
    for _ in range(3):
        numbers = pyarrow.array([1.5] * 100_000)
        with pytest.raises(quern.UsageError, match="Arrow type"):
            quern.dedup(numbers)
        del numbers
    assert pyarrow.total_allocated_bytes() <= before


def test_names_that_are_not_utf8(tmp_path: pathlib.Path) -> None:
    name = os.fsencode(tmp_path) + b"/caf\xe9.jsonl"
    with pytest.raises(quern.UsageError, match="caf\udce9.jsonl: no such file"):
        quern.dedup(os.fsdecode(name))
    with open(name, "w") as file:
        file.write('{"text": "the mill grinds"}\n{"text": "the mill grinds"}\n')
    found = quern.dedup(pathlib.Path(os.fsdecode(name)))
    assert found.keep.tolist() == [True, False] and len(found.pairs.to_dicts()) == 1
    with pytest.raises(quern.UsageError, match="null characters"):
        quern.dedup(["a text"], output=str(tmp_path / "out\0.jsonl"))
    assert not (tmp_path / "out").exists()


def test_options_without_effect_are_refused() -> None:
    for documents in (["a text"], [("id", "a text")]):
        with pytest.raises(quern.UsageError, match="has no fields"):
            quern.dedup(documents, text_field="body")
    with pytest.raises(quern.UsageError, match="prefer is for files"):
        quern.dedup(["a text"], prefer=["x"])


def test_names_of_files_as_texts_are_noticed(tmp_path, caplog):
    (tmp_path / "a.jsonl").write_text('{"text":"one"}')
    assert quern.dedup([str(tmp_path / "a.jsonl")]).text(0).endswith("a.jsonl")
    assert "pathlib.Path" in caplog.text
    caplog.clear()
    quern.dedup(["a text", "another"])
    assert caplog.text == ""
    with pytest.raises(quern.UsageError, match="pass texts in a list"):
        quern.dedup("a text")


def test_a_single_document_is_not_taken_for_columns(tmp_path):
    with pytest.raises(quern.UsageError, match="column id is a single text"):
        quern.build({"id": "abcde", "text": "hello"}, tmp_path / "s")
    with pytest.raises(quern.UsageError, match="rule: invalid value"):
        quern.fuse([{"1": [("a", 1.0)]}] * 2, rule="rff")
    with pytest.raises(TypeError, match="from_edges"):
        quern.Graph([(0, 1)])


@pytest.mark.parametrize("nothing", [[], iter([]), pandas.Series([], dtype=str), {"id": [], "text": []}])
def test_no_documents_give_an_empty_result(nothing):
    result = quern.dedup(nothing)
    assert result.documents == result.dropped == 0 and result.keep.tolist() == []
    assert len(result.pairs) == len(result.groups) == len(result.removed) == 0


def test_no_documents_for_every_way_to_clean(tmp_path):
    for options in ({"method": "shingle"}, {"method": "exhaustive"}, {"rule": "connected"}, {"list_pairs": False},
                    {"store": tmp_path / "seen"}, {"output": tmp_path / "kept.jsonl"}, {"report": tmp_path / "r.html"}):
        assert quern.dedup([], **options).documents == 0
    assert (tmp_path / "kept.jsonl").read_text() == ""
    assert quern.dedup_parts([], level="line").texts == []
    assert quern.dedup_parts([], level="line").keep.tolist() == []
    assert quern.decontaminate([], {"set": ["a b c"]}).keep.tolist() == []
    assert len(quern.signatures([])) == 0
    (tmp_path / "empty.jsonl").write_text("")
    with pytest.raises(quern.InvalidInput, match="holds no documents"):
        quern.dedup(tmp_path / "empty.jsonl")
