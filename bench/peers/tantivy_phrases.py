# SPDX-License-Identifier: Apache-2.0
"""tantivy_phrases.py CORPUS.jsonl INDEX PHRASES PASSES: builds an index with positions (one thread, one segment, only
a number stored), then times each phrase: finds and counts all of its documents, ranks the ten best by BM25. Prints JSON.

Queries are parsed before the clock starts. The call through Python is within the times; `overhead` is the median time of a
phrase that no document contains.
"""

import json
import os
import shutil
import statistics
import sys
import time

import tantivy

from harness import folder_bytes, medians_of_passes

HEAP_BYTES = 1_000_000_000


def build(corpus, folder):
    builder = tantivy.SchemaBuilder()
    builder.add_unsigned_field("number", stored=True)
    builder.add_text_field("text", stored=False, tokenizer_name="default", index_option="position")
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    index = tantivy.Index(builder.build(), path=folder)
    writer = index.writer(HEAP_BYTES, 1)
    with open(corpus, encoding="utf-8") as lines:
        for number, line in enumerate(lines):
            record = json.loads(line)
            document = tantivy.Document()
            document.add_unsigned("number", number)
            document.add_text("text", record["title"] + " \n" + record["text"])
            writer.add_document(document)
    writer.commit()
    writer.wait_merging_threads()
    index.reload()
    return index


def main():
    corpus, folder, path, passes = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
    index = build(corpus, folder)
    searcher = index.searcher()
    with open(path, encoding="utf-8") as lines:
        queries = [tantivy.Query.phrase_query(index.schema, "text", line.split()) for line in lines]
    nothing = tantivy.Query.phrase_query(index.schema, "text", ["zzzzqqqqzzzz", "qqqqzzzzqqqq"])

    def timed(query):
        begin = time.perf_counter()
        found = searcher.search(query, limit=10, count=True)
        return time.perf_counter() - begin, found

    documents = [timed(query)[1].count for query in queries]
    print(json.dumps({
        "seconds": medians_of_passes(queries, lambda query: timed(query)[0], passes),
        "documents": documents,
        "overhead": statistics.median(timed(nothing)[0] for _ in range(1000)),
        "segments": searcher.num_segments,
        "index_bytes": folder_bytes(folder),
        "position_bytes": sum(os.path.getsize(os.path.join(folder, f)) for f in os.listdir(folder) if f.endswith(".pos")),
    }))


main()
