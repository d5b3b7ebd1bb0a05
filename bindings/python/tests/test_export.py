# SPDX-License-Identifier: Apache-2.0
"""The files for other tools are those of the program."""

import numpy
import pytest
import quern


@pytest.fixture
def store(sample):
    return quern.build("mill", "store").store


def test_files_are_those_of_the_program(store, command, tmp_path):
    names = {"ciff": "a.ciff.gz", "arpa": "a.arpa", "graph": "links.tsv", "vectors": "a.npy", "documents": "d.tsv"}
    quern.export(store, order=2, lambda_=0.4, **{form: tmp_path / name for form, name in names.items()})
    (tmp_path / "other").mkdir()
    arguments = [part for form, name in names.items() for part in (f"--{form}", tmp_path / "other" / name)]
    command("export", "store", *arguments, "--order", 2, "--lambda", 0.4)
    for name in names.values():
        assert (tmp_path / name).read_bytes() == (tmp_path / "other" / name).read_bytes()
    assert numpy.load(tmp_path / "a.npy").shape[0] == store.documents


def test_what_is_refused(store, tmp_path):
    with pytest.raises(quern.UsageError, match="nothing to export"):
        quern.export(store)
    with pytest.raises(quern.UsageError, match="order is for a model"):
        quern.export(store, order=2, graph=tmp_path / "g.tsv")
    (tmp_path / "there.tsv").write_text("mine")
    with pytest.raises(quern.UsageError, match="exists"):
        quern.export("store", documents=tmp_path / "there.tsv", graph=tmp_path / "g.tsv")
    assert not (tmp_path / "g.tsv").exists() and (tmp_path / "there.tsv").read_text() == "mine"
    assert quern.export("store", documents=tmp_path / "there.tsv", overwrite=True)["documents"] == store.documents
    with pytest.raises(quern.UsageError):
        quern.export("no-store", documents=tmp_path / "x.tsv")
    assert not (tmp_path / "x.tsv").exists()
