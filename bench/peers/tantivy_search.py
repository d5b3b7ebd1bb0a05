# SPDX-License-Identifier: Apache-2.0
"""tantivy_search.py INDEX QUERIES K PASSES: times each query (its words joined by OR, BM25), prints JSON.

Queries are parsed before the clock starts. The call through Python is within the times; `overhead` is the
median time of a query whose only word no document contains. tantivy's k1 is 1.2 and b 0.75, both fixed.
"""

import json
import statistics
import sys
import time

import tantivy

from harness import medians_of_passes


def main():
    folder, path, k, passes = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    index = tantivy.Index.open(folder)
    schema = index.schema
    searcher = index.searcher()

    def parse(words):
        terms = [tantivy.Query.term_query(schema, "text", word, index_option="freq") for word in words]
        return terms[0] if len(terms) == 1 else tantivy.Query.boolean_query(
            [(tantivy.Occur.Should, term) for term in terms])

    with open(path, encoding="utf-8") as lines:
        queries = [parse(line.split()) for line in lines]
    nothing = parse(["zzzzqqqqzzzz"])

    def timed(query):
        begin = time.perf_counter()
        found = searcher.search(query, limit=k, count=False)
        return time.perf_counter() - begin, found

    top = []
    for query in queries:
        hits = timed(query)[1].hits[:10]
        top.append([searcher.doc(address)["number"][0] for _, address in hits])
    print(json.dumps({
        "seconds": medians_of_passes(queries, lambda query: timed(query)[0], passes),
        "top": top,
        "overhead": statistics.median(timed(nothing)[0] for _ in range(1000)),
        "segments": searcher.num_segments,
    }))


main()
