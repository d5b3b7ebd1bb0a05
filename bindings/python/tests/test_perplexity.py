"""Scores equal the program's, and follow from the numbers of the model."""

import math

import pytest
import quern

MODEL = "\\data\\\nngram 1=4\nngram 2=1\n\n\\1-grams:\n-99\t<s>\n-1\t</s>\n-0.5\ta\t-0.25\n-0.75\tb\n\n\\2-grams:\n-0.25\ta b\n\n\\end\\\n"


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "model.arpa"
    path.write_text(MODEL)
    return path


def test_scores_of_documents_and_sentences(model):
    found = quern.perplexity(model, [("x", "A b. A b."), ("y", "")], marks="no")
    assert found["id"] == ["x", "y"]
    assert list(found["words"]) == [4, 0]
    assert list(found["log10"]) == [-0.75 - 0.75, 0]
    assert math.isclose(found["perplexity"][0], 10 ** (1.5 / 4)) and math.isnan(found["perplexity"][1])
    parts = quern.perplexity(model, ["a b\nq"], tokenized=True, sentences=True)
    assert list(parts["sentence"]) == [1, 2]
    assert list(parts["unknown"]) == [0, 1]


def test_as_the_program(model, tmp_path, command):
    text = tmp_path / "text.txt"
    text.write_text("a b a\nb\n")
    written = command("perplexity", str(model), str(text), "--tokenized", "--sentences", "--format", "tsv").decode()
    rows = [line.split("\t") for line in written.splitlines()]
    found = quern.perplexity(model, text, tokenized=True, sentences=True)
    assert [float(row[3]) for row in rows] == list(found["log10"])
    assert [float(row[4]) for row in rows] == list(found["perplexity"])


def test_errors(model, tmp_path):
    with pytest.raises(quern.UsageError, match="no such file"):
        quern.perplexity(tmp_path / "absent.arpa", ["a"])
    model.write_text(MODEL.replace("-0.75", "x"))
    with pytest.raises(quern.InvalidInput, match="expected a logarithm"):
        quern.perplexity(model, ["a"])
    with pytest.raises(quern.UsageError, match="expected a text or a path"):
        quern.perplexity(17, ["a"])
