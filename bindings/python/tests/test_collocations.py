"""Collocations equal the program's, and follow from counts by hand."""

import math

import pytest
import quern

TEXTS = ["strong tea strong tea strong tea strong coffee", "powerful car powerful car powerful car", "strong car"]
OPTIONS = {"window": 1, "min_count": 1, "min_both": 1}


def test_by_hand():
    found = quern.collocations(TEXTS, words="tea", **OPTIONS)
    assert found.columns == ["word", "collocate", "count", "of_word", "of_collocate", "mi", "log_likelihood", "log_dice", "t_score"]
    assert len(found) == 1
    row = found[0]
    assert (row["word"], row["collocate"], row["count"], row["of_word"], row["of_collocate"]) == ("tea", "strong", 6, 6, 8)
    expected = 6 * 8 / 26
    assert math.isclose(row["mi"], math.log2(6 / expected))
    assert math.isclose(row["log_dice"], 14 + math.log2(12 / 14))
    assert math.isclose(row["t_score"], (6 - expected) / math.sqrt(6))


def test_as_the_program(tmp_path, command):
    file = tmp_path / "texts.tsv"
    file.write_text("".join(f"{number}\t{text}\n" for number, text in enumerate(TEXTS)))
    written = command("collocations", file, "--input-format", "tsv", "--window", 1, "--min-count", 1, "--min-both", 1,
                      "--relation", "position", "--by", "t-score", "--format", "tsv").decode()
    rows = [line.split("\t") for line in written.splitlines()]
    found = quern.collocations(TEXTS, relation="position", by="t-score", **OPTIONS)
    assert [(row[0], row[1], int(row[2])) for row in rows] == list(zip(found["word"], found["collocate"], map(int, found["position"])))
    for at, name in [(3, "count"), (6, "mi"), (7, "log_likelihood"), (8, "log_dice"), (9, "t_score")]:
        assert [float(row[at]) for row in rows] == [float(value) for value in found[name]]
    again = quern.collocations(file, format="tsv", relation="position", by="t-score", threads=3, **OPTIONS)
    assert list(again["log_dice"]) == list(found["log_dice"])


def test_errors():
    with pytest.raises(quern.UsageError, match="more than one word"):
        quern.collocations(TEXTS, words=["green tea"], **OPTIONS)
    with pytest.raises(TypeError, match="argument 'k'; did you mean top"):
        quern.collocations(TEXTS, k=3)
    with pytest.raises(quern.UsageError, match="by"):
        quern.collocations(TEXTS, by="luck")
    with pytest.raises(quern.InvalidInput, match="two are needed for collocations"):
        quern.collocations(TEXTS, min_count=100)
    assert len(quern.collocations(TEXTS, words=["unicorn"], **OPTIONS)) == 0


def test_all_collocates():
    text = [" ".join(f"hub w{i}" for i in range(30))] * 3
    options = {"words": "hub", "window": 1, "min_count": 1, "min_both": 1}
    assert len(quern.collocations(text, **options)) == 20
    assert len(quern.collocations(text, top="all", **options)) == 30
    assert len(quern.collocations(text, top=None, **options)) == 30
