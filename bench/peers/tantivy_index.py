# SPDX-License-Identifier: Apache-2.0
"""tantivy_index.py CORPUS.jsonl INDEX THREADS TEXT(0|1): builds a tantivy index, prints JSON.

Timed: adding prepared documents, commit, and the end of all merges. As close to Quern's index as
tantivy allows: lower-cased words (its tokenizer "default"), frequencies without positions; ids and, where
TEXT is 1, titles and texts stored. TEXT 0 shows what storing them costs.
"""

import json
import os
import shutil
import sys
import time

import tantivy

from harness import folder_bytes, peak_memory_bytes

HEAP_BYTES = 1_000_000_000  # large enough to avoid early flushes: minimum of segments and merges


def main():
    corpus, folder, threads, with_text = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4] == "1"
    builder = tantivy.SchemaBuilder()
    builder.add_unsigned_field("number", stored=True)
    builder.add_text_field("id", stored=True, tokenizer_name="raw", index_option="basic")
    builder.add_text_field("text", stored=with_text, tokenizer_name="default", index_option="freq")
    schema = builder.build()

    documents = []
    with open(corpus, encoding="utf-8") as lines:
        for number, line in enumerate(lines):
            record = json.loads(line)
            document = tantivy.Document()
            document.add_unsigned("number", number)
            document.add_text("id", record["id"])
            document.add_text("text", record["title"])  # a field's values are counted together
            document.add_text("text", record["text"])
            documents.append(document)

    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    before = peak_memory_bytes()
    begin, cpu_begin = time.monotonic(), time.process_time()
    index = tantivy.Index(schema, path=folder)
    writer = index.writer(HEAP_BYTES, threads)
    for document in documents:
        writer.add_document(document)
    writer.commit()
    writer.wait_merging_threads()
    seconds, cpu_seconds = time.monotonic() - begin, time.process_time() - cpu_begin
    index.reload()
    print(json.dumps({
        "seconds": seconds,
        "cpu_seconds": cpu_seconds,
        "memory_bytes": peak_memory_bytes() - before,
        "index_bytes": folder_bytes(folder),
        "documents": index.searcher().num_docs,
        "segments": index.searcher().num_segments,
    }))


main()
