# SPDX-License-Identifier: Apache-2.0
"""word2vec and fastText, by gensim, on one thread with a fixed seed: word_vectors.py MODEL LINES PAIRS DIMENSIONS EPOCHS
MODEL: skip-gram, cbow or fasttext (skip-gram with n-grams of 3 to 6 characters). LINES: words between blanks, a passage a line.
PAIRS: word TAB word. All other options are gensim's defaults (window 5, min_count 5, 5 negative samples).
Prints JSON: seconds and cpu_seconds of the training with the vocabulary, memory_bytes of the process, words in all and in the
vocabulary, and for each pair its cosine and whether both words are in the vocabulary; null if there is none."""

import json
import os
import sys
import time
from pathlib import Path

for threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[threads] = "1"

from gensim.models import FastText, Word2Vec  # noqa: E402
from harness import peak_memory_bytes  # noqa: E402

KINDS = {"skip-gram": (Word2Vec, {"sg": 1}), "cbow": (Word2Vec, {"sg": 0}), "fasttext": (FastText, {"sg": 1})}


def main():
    model, lines, pairs = sys.argv[1:4]
    dimensions, epochs = int(sys.argv[4]), int(sys.argv[5])
    kind, options = KINDS[model]
    begin, begin_cpu = time.monotonic(), time.process_time()
    trained = kind(corpus_file=lines, vector_size=dimensions, epochs=epochs, workers=1, seed=1, **options)
    taken = {"seconds": time.monotonic() - begin, "cpu_seconds": time.process_time() - begin_cpu,
             "memory_bytes": peak_memory_bytes(), "words": trained.corpus_total_words, "vocabulary": len(trained.wv)}
    known = trained.wv.key_to_index
    scores = []
    for line in Path(pairs).read_text(encoding="utf-8").splitlines():
        a, b = line.split("\t")
        seen = a in known and b in known
        scores.append([float(trained.wv.similarity(a, b)) if seen or model == "fasttext" else None, seen])
    print(json.dumps({**taken, "scores": scores}))


main()
