# SPDX-License-Identifier: Apache-2.0
"""For bench/run-python: what Python adds. Prints JSON.

python_overhead.py search STORE QUERIES PASSES  the median seconds of each query by Store.search, with the options of engine_bench
python_overhead.py arrow ROWS                   seconds until dedup's reader has an Arrow column of so many strings
python_overhead.py vectors|faiss ROWS           resident bytes of a set over an array of so many vectors of 128 dimensions"""

import json
import statistics
import sys
import time
from pathlib import Path


def search(store, queries, passes):
    import quern

    opened = quern.open(store, threads=1)
    options = {"k": 10, "k1": 1.2, "b": 0.75, "snippets": False, "suggestions": 0, "title_weight": 0}
    asked = Path(queries).read_text().splitlines()
    seconds = [[] for _ in asked]
    for turn in range(int(passes) + 1):
        for times, query in zip(seconds, asked):
            begin = time.perf_counter()
            opened.search(query, **options)
            taken = time.perf_counter() - begin
            if turn > 0:
                times.append(taken)
    return {"seconds": [statistics.median(times) for times in seconds]}


def arrow(rows):
    import pyarrow
    import quern

    count = int(rows)
    table = pyarrow.table({"text": pyarrow.array([f"a short text with the number {i}" for i in range(count)])})
    taken = []
    for _ in range(7):
        begin = time.perf_counter()
        address = quern._quern._text_address(table, count - 1)
        taken.append(time.perf_counter() - begin)
    buffer = table["text"].chunk(0).buffers()[2]
    inside = buffer.address <= address < buffer.address + buffer.size
    return {"seconds": taken, "in_place": inside}


def resident():
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    raise SystemExit("no VmRSS in /proc/self/status")


def memory(engine, rows):
    import numpy

    chance = numpy.random.default_rng(7)
    vectors = chance.random((int(rows), 128), dtype=numpy.float32)
    query = vectors[:1].copy()
    before = resident()
    begin = time.perf_counter()
    if engine == "vectors":
        import quern

        made = quern.VectorSet(vectors, metric="sql2", device="cpu", progress=False)
    else:
        import faiss

        made = faiss.IndexFlatL2(128)
        made.add(vectors)
    taken = time.perf_counter() - begin
    after = resident()
    for _ in range(3):
        made.search(query, 10)
    few = resident()
    for _ in range(17):
        made.search(query, 10)
    return {"array": vectors.nbytes, "seconds": taken, "made": after - before, "few": few - before, "many": resident() - before}


def main():
    what, *arguments = sys.argv[1:]
    if what == "search":
        answer = search(*arguments)
    elif what == "arrow":
        answer = arrow(*arguments)
    else:
        answer = memory(what, *arguments)
    print(json.dumps(answer))


main()
