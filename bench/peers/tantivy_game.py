# SPDX-License-Identifier: Apache-2.0
"""tantivy_game.py CORPUS.jsonl INDEX QUERIES PASSES: builds an index with positions (one thread, one segment, only a number
stored) unless it exists, then times each query: a mode, a tab, and words with + or - before some, or phrases. Prints JSON: the
median seconds of each query over the passes, those of a first pass, and the counts.

Queries are made before the clock starts. The call through Python is within the times; `overhead` is the median time of a query that
no document contains. COUNT also ranks one document: the wheel cannot only count. tantivy's k1 is 1.2 and b 0.75, both fixed.
"""

import json
import os
import re
import statistics
import sys
import time

import tantivy

from harness import medians_of_passes

HEAP_BYTES = 1_000_000_000
MODES = {"TOP_10": (10, False), "TOP_100": (100, False), "COUNT": (1, True), "TOP_100_COUNT": (100, True)}
PART = re.compile(r'([+-]?)(?:"([^"]*)"|(\S+))')
OCCURS = {"+": tantivy.Occur.Must, "-": tantivy.Occur.MustNot, "": tantivy.Occur.Should}


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


def query_of(schema, text):
    parts = []
    for sign, quoted, word in PART.findall(text):
        words = (quoted or word).split()
        made = tantivy.Query.term_query(schema, "text", words[0]) if len(words) == 1 else tantivy.Query.phrase_query(schema, "text", words)
        parts.append((OCCURS[sign], made))
    return parts[0][1] if len(parts) == 1 else tantivy.Query.boolean_query(parts)


def main():
    corpus, folder, path, passes = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
    index = build(corpus, folder)
    searcher = index.searcher()

    def parse(line):
        mode, text = line.rstrip("\n").split("\t")
        return (query_of(index.schema, text), *MODES[mode])

    def timed(query):
        begin = time.perf_counter()
        found = searcher.search(query[0], limit=query[1], count=query[2])
        return time.perf_counter() - begin, found

    with open(path, encoding="utf-8") as lines:
        queries = [parse(line) for line in lines]
    first, counts = [], []
    for query in queries:
        seconds, found = timed(query)
        first.append(seconds)
        counts.append(found.count if query[2] else 0)
    nothing = parse("TOP_10\t+zzzzqqqqzzzz +qqqqzzzzqqqq")
    print(json.dumps({
        "seconds": medians_of_passes(queries, lambda query: timed(query)[0], passes),
        "first": first,
        "counts": counts,
        "overhead": statistics.median(timed(nothing)[0] for _ in range(1000)),
        "segments": searcher.num_segments,
    }))


main()
