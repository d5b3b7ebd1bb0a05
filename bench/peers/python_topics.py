# SPDX-License-Identifier: Apache-2.0
"""python_topics.py CORPUS.jsonl TOPICS: indexes the documents with bm25s (numba) and tantivy on one core, prints a JSON list
of their names, processor seconds of indexing and the peak of memory after it (bm25s is the first), and then, for every line [NAME, K] of standard input, the processor seconds and seconds of all queries."""

import importlib.metadata
import json
import os
import sys
import tempfile
import time

from harness import peak_memory_bytes

WORD = r"[a-z0-9]+"


def open_bm25s(ids, texts):
    import bm25s

    def words(of):
        return bm25s.tokenize(of, token_pattern=WORD, stopwords=None, show_progress=False, return_ids=False)

    retriever = bm25s.BM25(k1=1.2, b=0.75, method="lucene", backend="numba")
    retriever.index(bm25s.tokenize(texts, token_pattern=WORD, stopwords=None, show_progress=False), show_progress=False)
    retriever.activate_numba_scorer()
    return lambda queries, k: retriever.retrieve(words(queries), corpus=ids, k=min(k, len(ids)), n_threads=1, show_progress=False)


def open_tantivy(ids, texts):
    import tantivy

    schema = tantivy.SchemaBuilder()
    schema.add_text_field("text", stored=False, tokenizer_name="default", index_option="freq")
    folder = tempfile.mkdtemp()
    index = tantivy.Index(schema.build(), path=folder)
    writer = index.writer(heap_size=1_000_000_000, num_threads=1)
    for text in texts:
        writer.add_document(tantivy.Document(text=text))
    writer.commit()
    writer.wait_merging_threads()
    index.reload()
    searcher = index.searcher()
    return lambda queries, k: [searcher.search(index.parse_query(query, ["text"]), limit=k, count=False).hits for query in queries]


def main():
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-1:])
    ids, texts = [], []
    with open(sys.argv[1], encoding="utf-8") as lines:
        for line in lines:
            record = json.loads(line)
            ids.append(str(record["id"]))
            texts.append(f"{record['title']} {record['text']}" if record.get("title") else record["text"])
    with open(sys.argv[2], encoding="utf-8") as lines:
        queries = [line.rstrip("\n").split("\t")[1] for line in lines]
    ways, indexed = {}, []
    wanted = os.environ.get("QUERN_BENCH_PEERS", "bm25s,tantivy").split(",")
    for package, opened in (("bm25s", open_bm25s), ("tantivy", open_tantivy)):
        if package not in wanted:
            continue
        cpu = time.process_time()
        try:
            ask = opened(ids, texts)
        except ImportError:
            continue
        indexed.append((time.process_time() - cpu, peak_memory_bytes()))
        name = f"{package} {importlib.metadata.version(package)}"
        ask(queries, 10)  # compiles, and warms the caches
        ways[name] = ask
    print(json.dumps([(name, *taken) for name, taken in zip(ways, indexed)]), flush=True)
    for line in sys.stdin:
        name, k = json.loads(line)
        cpu, wall = time.process_time(), time.perf_counter()
        ways[name](queries, k)
        print(json.dumps([time.process_time() - cpu, time.perf_counter() - wall]), flush=True)


main()
