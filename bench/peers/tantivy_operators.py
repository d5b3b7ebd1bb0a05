# SPDX-License-Identifier: Apache-2.0
"""tantivy_operators.py CORPUS.jsonl INDEX QUERIES PASSES: builds an index with positions (one thread, one segment, only a
number stored) unless it exists, then times each query: a collection mode, a tab, and words of three kinds: a b, +a +b or
"a b". Prints JSON.

Queries are parsed before the clock starts. The call through Python is within the times; `overhead` is the median time of a
query that no document contains. COUNT also ranks one document: the wheel cannot only count. tantivy's k1 is 1.2 and b 0.75,
both fixed.
"""

import json
import os
import statistics
import sys
import time

import tantivy

from harness import medians_of_passes

HEAP_BYTES = 1_000_000_000
MODES = {"TOP_10": (10, False), "TOP_100": (100, False), "COUNT": (1, True), "TOP_100_COUNT": (100, True)}


def build(corpus, folder):
    if os.path.exists(os.path.join(folder, "meta.json")):
        return tantivy.Index.open(folder)
    builder = tantivy.SchemaBuilder()
    builder.add_unsigned_field("number", stored=True)
    builder.add_text_field("text", stored=False, tokenizer_name="default", index_option="position")
    os.makedirs(folder, exist_ok=True)
    index = tantivy.Index(builder.build(), path=folder)
    writer = index.writer(HEAP_BYTES, 1)
    with open(corpus, encoding="utf-8") as lines:
        for number, line in enumerate(lines):
            document = tantivy.Document()
            document.add_unsigned("number", number)
            document.add_text("text", json.loads(line)["text"])
            writer.add_document(document)
    writer.commit()
    writer.wait_merging_threads()
    index.reload()
    return index


def main():
    corpus, folder, path, passes = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
    index = build(corpus, folder)
    schema, searcher = index.schema, index.searcher()

    def parse(line):
        mode, text = line.rstrip("\n").split("\t")
        if text.startswith('"'):
            query = tantivy.Query.phrase_query(schema, "text", text.strip('"').split())
        else:
            occur = tantivy.Occur.Must if text.startswith("+") else tantivy.Occur.Should
            query = tantivy.Query.boolean_query(
                [(occur, tantivy.Query.term_query(schema, "text", word.lstrip("+"))) for word in text.split()])
        return (query, *MODES[mode])

    def timed(query):
        begin = time.perf_counter()
        found = searcher.search(query[0], limit=query[1], count=query[2])
        return time.perf_counter() - begin, found

    with open(path, encoding="utf-8") as lines:
        queries = [parse(line) for line in lines]
    counts, top = [], []
    for query in queries:
        found = timed(query)[1]
        counts.append(found.count if query[2] else 0)
        top.append([] if query[1] == 1 else [searcher.doc(address)["number"][0] for _, address in found.hits[:10]])
    nothing = parse("TOP_10\t+zzzzqqqqzzzz +qqqqzzzzqqqq")
    print(json.dumps({
        "seconds": medians_of_passes(queries, lambda query: timed(query)[0], passes),
        "counts": counts,
        "top": top,
        "overhead": statistics.median(timed(nothing)[0] for _ in range(1000)),
        "segments": searcher.num_segments,
    }))


main()
