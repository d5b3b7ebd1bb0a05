# SPDX-License-Identifier: Apache-2.0
"""Reciprocal rank fusion with trectools, timed step by step; its other rules take two runs at most.

    fuse_trectools.py RUN...

Prints JSON."""

import json
import sys
import time


def main():
    begin = time.perf_counter()
    from trectools import TrecRun, fusion

    result = {"start": time.perf_counter() - begin}
    begin = time.perf_counter()
    read = [TrecRun(path) for path in sys.argv[1:]]
    result["read"] = time.perf_counter() - begin
    begin = time.perf_counter()
    fused = fusion.reciprocal_rank_fusion(read, max_docs=1_000_000)
    result["fuse"] = time.perf_counter() - begin
    result["documents"] = len(fused.run_data)
    print(json.dumps(result))


main()
