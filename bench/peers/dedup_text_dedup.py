#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""dedup_text_dedup.py CORPUS.jsonl WORK CLUSTERS PROCESSES: text-dedup's MinHash program with its own defaults (shingles
of five words, 250 permutations, Jaccard similarity 0.7). Writes the positions of the documents of each cluster as a
line; prints seconds and version as JSON. The clock begins with its program, after the imports."""

import contextlib
import importlib.metadata
import json
import os
import shutil
import sys
import time
from collections import defaultdict

corpus, work, clusters, processes = sys.argv[1:]
shutil.rmtree(work, ignore_errors=True)
os.makedirs(work)
os.environ.update(HF_HUB_OFFLINE="1", HF_HOME=work, HF_DATASETS_CACHE=f"{work}/cache", TQDM_DISABLE="1")

from text_dedup import minhash  # noqa: E402  (reads the environment)

arguments = ["--path", "json", "--data_files", corpus, "--split", "train", "--column", "text", "--num_proc", processes,
             "--cache_dir", f"{work}/cache", "--output", f"{work}/output"]
begin = time.monotonic()
with contextlib.redirect_stdout(sys.stderr):
    minhash.main.main(arguments, standalone_mode=False)
seconds = time.monotonic() - begin
members = defaultdict(list)
for position in sorted(minhash.uf.parent):
    members[minhash.uf.find(position)].append(position)
with open(clusters, "w", encoding="ascii") as out:
    out.writelines(" ".join(map(str, cluster)) + "\n" for cluster in members.values() if len(cluster) > 1)
shutil.rmtree(work)
print(json.dumps({"seconds": seconds, "version": importlib.metadata.version("text-dedup")}))
