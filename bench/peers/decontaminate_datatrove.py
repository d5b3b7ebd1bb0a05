#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""decontaminate_datatrove.py TRAIN.jsonl EVAL.jsonl FOLDER OUT: the filter of datatrove, with its own words and n-grams of
13: a document that has any n-gram of an item is contaminated. Items become its index as its own indexer makes it, without
the download of tasks. Writes the ids of contaminated documents; prints seconds and version as JSON. The clock begins with
the files, after the imports."""

import importlib.metadata
import json
import sys
import time
from pathlib import Path

import numpy as np
from datatrove.data import Document
from datatrove.pipeline.decont.n_grams import NGramsDecontConfig, NGramsDecontFilter
from datatrove.utils.text import ngrams, simplify_text


def main():
    train, evaluation, folder, out = sys.argv[1:]
    Path(folder).mkdir(exist_ok=True)
    config = NGramsDecontConfig(n_grams=13)
    made = NGramsDecontFilter(folder, config)
    made.tokenizer.word_tokenize("loads the model")
    begin = time.monotonic()
    hashes = set()
    with open(evaluation, encoding="utf-8") as items:
        for line in items:
            words = made.tokenizer.word_tokenize(simplify_text(json.loads(line)["text"], config.norm_config))
            hashes.update(made.hash_func(" ".join(ngram)) for ngram in ngrams(words, config.n_grams))
    np.array(list(hashes), dtype=config.hash_config.np_descr).tofile(Path(folder) / "items.index.hashes")
    with open(train, encoding="utf-8") as documents, open(out, "w", encoding="utf-8") as contaminated:
        for line in documents:
            document = json.loads(line)
            if made.filter(Document(text=document["text"], id=document["id"])) is not True:
                contaminated.write(document["id"] + "\n")
    print(json.dumps({"seconds": time.monotonic() - begin, "version": importlib.metadata.version("datatrove")}))


main()
