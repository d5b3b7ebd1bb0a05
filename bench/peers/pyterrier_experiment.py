# SPDX-License-Identifier: Apache-2.0
"""pyterrier_experiment.py FOLDER...: pt.Experiment of Quern and of PyTerrier's own engines, for bench/run-pyterrier. A folder has
documents.jsonl, topics.tsv and qrels.txt; the store of Quern is built there. Prints JSON: of each folder the means of each system."""

import importlib.metadata
import json
import os
import shutil
import sys
from pathlib import Path

import pandas
import pyterrier as pt

from quern.pyterrier import Indexer

MEASURES = ["map", "ndcg_cut_10"]
K1, B, MU = 1.2, 0.75, 1000.0
# Lucene's 33 words, which all systems leave out.
STOP_WORDS = ("a an and are as at be but by for if in into is it no not of on or such that the their then there these they this to was "
              "will with").split()


def ours(documents, folder):
    for stem, name in (("porter", "Porter"), ("english", "Porter 2")):
        index = Indexer(folder / f"quern-{stem}", tokens="ascii", stop_words="lucene", stem=stem, force=True, progress=False)
        index = index.index(documents)
        yield f"quern, bm25, {name}", index.bm25(k1=K1, b=B)
        yield f"quern, robertson, {name}", index.retriever("robertson", k1=K1, b=B)
        yield f"quern, dirichlet, {name}", index.retriever("dirichlet", mu=MU)


def terrier(documents, folder):
    """Needs Java, and the jar that PyTerrier fetches from Maven at its first start."""
    pt.java.init()
    shutil.rmtree(folder / "terrier", ignore_errors=True)
    indexer = pt.IterDictIndexer(str(folder / "terrier"), stemmer="porter", stopwords=STOP_WORDS, tokeniser="english",
                                 meta={"docno": 40})
    index = indexer.index(documents)
    made = pt.terrier.Retriever
    yield "Terrier, BM25, Porter", made(index, wmodel="BM25", num_results=1000, controls={"bm25.k_1": str(K1), "bm25.b": str(B)})
    yield "Terrier, DirichletLM, Porter", made(index, wmodel="DirichletLM", num_results=1000, controls={"dirichletlm.mu": str(MU)})


def pisa(documents, folder):
    from pyterrier_pisa import PisaIndex

    shutil.rmtree(folder / "pisa", ignore_errors=True)
    index = PisaIndex(str(folder / "pisa"), text_field="text", stemmer="porter2", stops="lucene", overwrite=True)
    index.index(documents)
    yield "PISA, bm25, Porter 2", index.bm25(k1=K1, b=B)
    yield "PISA, qld, Porter 2", index.qld(mu=MU)


def read(folder):
    with open(folder / "documents.jsonl", encoding="utf-8") as lines:
        documents = [{"docno": one["id"], "text": one["text"]} for one in map(json.loads, lines)]
    rows = [line.split("\t") for line in (folder / "topics.tsv").read_text(encoding="utf-8").splitlines()]
    topics = pandas.DataFrame(rows, columns=["qid", "query"])
    judged = [line.split() for line in (folder / "qrels.txt").read_text().splitlines()]
    qrels = pandas.DataFrame([(topic, document, int(grade)) for topic, _, document, grade in judged], columns=["qid", "docno", "label"])
    return documents, topics[topics["qid"].isin(qrels["qid"])].reset_index(drop=True), qrels


def main():
    out = os.dup(1)
    os.dup2(2, 1)  # PISA writes its log to standard output
    found = {"version": importlib.metadata.version("python-terrier"), "missing": {}, "means": {}}
    for folder in map(Path, sys.argv[1:]):
        documents, topics, qrels = read(folder)
        systems = dict(ours(documents, folder))
        for name, make in (("Terrier", terrier), ("PISA", pisa)):
            if name in found["missing"]:
                continue
            try:
                systems.update(make(documents, folder))
            except Exception as why:  # no Java, no jar, no package: it is a row of the table
                found["missing"][name] = f"{type(why).__name__}: {why}".splitlines()[0]
                print(f"  {name} is not available here: {found['missing'][name]}", file=sys.stderr, flush=True)
        table = pt.Experiment(list(systems.values()), topics, qrels, MEASURES, names=list(systems))
        found["means"][folder.name] = {row["name"]: [row[measure] for measure in MEASURES] for _, row in table.iterrows()}
        print(f"  {folder.name}: {len(systems)} systems", file=sys.stderr, flush=True)
    os.write(out, json.dumps(found).encode())


main()
