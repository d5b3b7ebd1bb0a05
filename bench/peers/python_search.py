# SPDX-License-Identifier: Apache-2.0
"""python_search.py CORPUS.jsonl QUERIES FOLDER ROUNDS SECONDS: quern.Store, bm25s and tantivy in one process on one core, for
bench/run-python. They take turns, first to build their indexes, then with the same queries; prints JSON."""

import importlib.metadata
import json
import logging
import os
import shutil
import sys
import time
from pathlib import Path

import quern

OURS = {"k": 10, "k1": 1.2, "b": 0.75, "snippets": False, "duplicates": False, "suggestions": 0, "title_weight": 0}
WORD = r"[a-z0-9]+"


def open_quern(ids, texts, folder):
    begin = time.perf_counter()
    quern.build(list(zip(ids, texts)), folder / "quern", skip="all", force=True, tokens="ascii", threads=1, progress=False)
    taken = time.perf_counter() - begin
    store = quern.open(folder / "quern", threads=1)

    def many(queries):
        return store.search_many(queries, k=10, k1=1.2, b=0.75, title_weight=0, threads=1, progress=False)

    def tops(queries):
        return [[hit.id for hit in store.search(query, **OURS)] for query in queries]

    ways = {
        "quern.Store.search": lambda queries: [store.search(query, **OURS) for query in queries],
        "quern.Store.search, ids and scores read": lambda queries: [
            [(hit.id, hit.score) for hit in store.search(query, **OURS)] for query in queries],
        "quern.Store.search, defaults: snippets": lambda queries: [store.search(query) for query in queries],
        "quern.Store.search_many": many,
    }
    return taken, ways, tops


def open_bm25s(ids, texts, folder):
    import bm25s

    def words(of):
        return bm25s.tokenize(of, token_pattern=WORD, stopwords=None, show_progress=False, return_ids=False)

    def retrieve(queries):
        return retriever.retrieve(words(queries), corpus=ids, k=min(10, len(ids)), n_threads=1, show_progress=False)

    begin = time.perf_counter()
    retriever = bm25s.BM25(k1=1.2, b=0.75, method="lucene", backend="numba")
    retriever.index(bm25s.tokenize(texts, token_pattern=WORD, stopwords=None, show_progress=False), show_progress=False)
    taken = time.perf_counter() - begin
    retriever.activate_numba_scorer()
    ways = {
        "bm25s.retrieve, one call a query": lambda queries: [retrieve([query]) for query in queries],
        "bm25s.retrieve, one call": retrieve,
    }

    def tops(queries):
        found = retrieve(queries)
        return [[name for name, score in zip(names, scores) if score > 0] for names, scores in zip(found.documents, found.scores)]

    return taken, ways, lambda queries: [[str(name) for name in top] for top in tops(queries)]


def open_tantivy(ids, texts, folder):
    import tantivy

    place = folder / "tantivy"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    schema = tantivy.SchemaBuilder()
    schema.add_text_field("id", stored=True, tokenizer_name="raw", index_option="basic")
    schema.add_text_field("text", stored=False, tokenizer_name="default", index_option="freq")
    begin = time.perf_counter()
    index = tantivy.Index(schema.build(), path=str(place))
    writer = index.writer(heap_size=1_000_000_000, num_threads=1)
    for name, text in zip(ids, texts):
        writer.add_document(tantivy.Document(id=name, text=text))
    writer.commit()
    writer.wait_merging_threads()
    taken = time.perf_counter() - begin
    index.reload()
    searcher = index.searcher()

    def search(query):
        return searcher.search(index.parse_query(query, ["text"]), limit=10, count=False).hits

    def names(hits):
        return [(searcher.doc(address)["id"][0], score) for score, address in hits]

    ways = {
        "tantivy": lambda queries: [search(query) for query in queries],
        "tantivy, ids and scores read": lambda queries: [names(search(query)) for query in queries],
    }
    return taken, ways, lambda queries: [[name for name, _ in names(search(query))] for query in queries]


def version(package):
    return importlib.metadata.version(package)


def main():
    corpus, queries, folder = sys.argv[1], Path(sys.argv[2]).read_text().splitlines(), Path(sys.argv[3])
    rounds, limit = int(sys.argv[4]), float(sys.argv[5])
    logging.getLogger("quern").setLevel(logging.ERROR)  # queries that find nothing
    folder.mkdir(parents=True, exist_ok=True)
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-1:])
    ids, texts = [], []
    with open(corpus, encoding="utf-8") as lines:
        for line in lines:
            record = json.loads(line)
            ids.append(str(record["id"]))
            texts.append(f"{record['title']} {record['text']}" if record.get("title") else record["text"])
    found = {"documents": len(ids), "bytes": sum(len(text.encode()) for text in texts), "index": {}, "agreement": {}, "missing": []}
    ways, expected = {}, None
    openers = {"quern": open_quern, "bm25s": open_bm25s, "tantivy": open_tantivy}
    indexed, ready = {}, {}
    for _ in range(min(2, rounds)):
        for name, opened in openers.items():
            try:
                taken, *ready[name] = opened(ids, texts, folder)
            except ImportError:
                continue
            indexed.setdefault(name, []).append(taken)
            print(f"  {name}: {taken:.1f} s to index", file=sys.stderr, flush=True)
    for name in openers:
        if name not in ready:
            found["missing"].append(name)
            continue
        label = name if name == "quern" else f"{name} {version(name)}"
        found["index"][label] = indexed[name]
        own, tops = ready[name]
        ways.update(own)
        top = tops(queries)
        expected = expected or top
        if name != "quern":
            asked = [(a, b) for a, b in zip(expected, top) if a or b]
            found["agreement"][label] = {
                "overlap": sum(len(set(a) & set(b)) / max(len(a), len(b)) for a, b in asked) / len(asked),
                "first": sum(a[:1] == b[:1] for a, b in asked) / len(asked)}
    times = {name: [] for name in ways}
    begin = time.perf_counter()
    for turn in range(rounds + 1):
        if turn > 1 and time.perf_counter() - begin > limit:
            break
        for name, ask in ways.items():
            start = time.perf_counter()
            ask(queries)
            if turn > 0:  # the first compiles and warms the caches
                times[name].append(time.perf_counter() - start)
    found["times"] = times
    found["queries"] = len(queries)
    print(json.dumps(found))


main()
