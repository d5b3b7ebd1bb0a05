# SPDX-License-Identifier: Apache-2.0
"""datatrove's quality filters over JSON lines, one process: which documents each removes, by quern's names of rules.

    filter_datatrove.py CORPUS GROUP,... spacy|whitespace REMOVED.tsv [KEPT.jsonl]

Groups are applied in this order, as a pipeline; the rows of REMOVED.tsv are id, rule. With `whitespace` words are those
between white space, and sentences those of quern, instead of spaCy's: then both programs share all definitions."""

import importlib.metadata
import json
import re
import sys
import time

from datatrove.data import Document
from datatrove.pipeline.filters import C4ParagraphFilter, C4QualityFilter, FineWebQualityFilter, GopherQualityFilter, GopherRepetitionFilter
from datatrove.pipeline.filters import c4_filters, fineweb_quality_filter, gopher_quality_filter, gopher_repetition_filter
from datatrove.pipeline.formatters import PIIFormatter
from datatrove.utils.text import TERMINAL_PUNCTUATION

FILTERS = {"gopher-quality": GopherQualityFilter, "gopher-repetition": GopherRepetitionFilter, "c4": C4QualityFilter,
           "c4-paragraphs": C4ParagraphFilter, "fineweb": FineWebQualityFilter}
RULES = {
    "gopher_short_doc": "min-words", "gopher_long_doc": "max-words", "gopher_below_avg_threshold": "min-mean-word-length",
    "gopher_above_avg_threshold": "max-mean-word-length", "gopher_too_many_hashes": "max-hashes", "gopher_too_many_ellipsis": "max-ellipses",
    "gopher_too_many_bullets": "max-bullet-lines", "gopher_too_many_end_ellipsis": "max-ellipsis-lines",
    "gopher_below_alpha_threshold": "min-words-with-letter", "gopher_enough_stop_words": "min-stop-words",
    "dup_para_frac": "max-duplicate-paragraphs", "dup_para_char_frac": "max-duplicate-paragraph-characters",
    "dup_line_frac": "max-duplicate-lines", "dup_line_char_frac": "max-duplicate-line-characters",
    "lorem_ipsum": "lorem-ipsum", "curly_bracket": "curly-bracket", "too_few_sentences": "min-sentences", "< 3 paragraphs": "min-paragraphs",
    "line_punct_ratio": "min-line-punctuation", "short_line_ratio": "max-short-lines", "char_dup_ratio": "max-duplicate-line-characters",
    "list_ratio": "max-line-ends",
}
RULES |= {f"top_{n}_gram": f"max-top-{n}-gram" for n in range(2, 5)}
RULES |= {f"duplicated_{n}_n_grams": f"max-duplicate-{n}-grams" for n in range(5, 11)}
CLOSING = "\"')]}\u201d\u2019\u00bb\u300d\u300f\uff09"


def sentences(line, language=None):
    """quern's: marks that end sentences, with what closes after them; those of ASCII only before white space."""
    found, at, begin = [], 0, 0
    while at < len(line):
        c = line[at]
        at += 1
        if c not in TERMINAL_PUNCTUATION:
            continue
        ends = ord(c) >= 0x80
        while at < len(line) and (line[at] in TERMINAL_PUNCTUATION or line[at] in CLOSING):
            ends = ends or (line[at] in TERMINAL_PUNCTUATION and ord(line[at]) >= 0x80)
            at += 1
        if ends or at == len(line) or line[at].isspace():
            found.append(line[begin:at])
            begin = at
    if line[begin:].strip():
        found.append(line[begin:])
    return found


def main():
    corpus, groups, words, removed_path = sys.argv[1:5]
    if words == "whitespace":
        for module in (gopher_quality_filter, gopher_repetition_filter, fineweb_quality_filter):
            module.split_into_words = lambda text, language=None: text.split()
        c4_filters.split_into_sentences = sentences
    steps = [(group, PIIFormatter() if group == "mask" else FILTERS[group]()) for group in groups.split(",")]
    documents = [json.loads(line) for line in open(corpus, encoding="utf-8")]
    kept = []
    seconds = dict.fromkeys((group for group, _ in steps), 0.0)
    begin = time.process_time()
    with open(removed_path, "w", encoding="utf-8") as removed:
        for document in documents:
            made = Document(text=document["text"], id=str(document["id"]))
            for group, step in steps:
                since = time.process_time()
                if group == "mask":
                    if words == "whitespace":  # quern begins anew with each document
                        step.emails_replacer._replace_i = step.ip_replacer._replace_i = 0
                    made.text = step.format(made.text)
                    result = True
                else:
                    result = step.filter(made)
                seconds[group] += time.process_time() - since
                if result is not True:
                    reason = result[1] if isinstance(result, tuple) else ""
                    rule = {"gopher-repetition": "min-characters", "fineweb": "min-lines"}.get(group) if reason == "empty" else RULES[reason]
                    removed.write(f"{re.sub(chr(9), ' ', made.id)}\t{group}.{rule}\n")
                    break
            else:
                kept.append({"id": document["id"], "text": made.text})
    taken = time.process_time() - begin
    if len(sys.argv) > 5:
        with open(sys.argv[5], "w", encoding="utf-8") as out:
            for document in kept:
                out.write(json.dumps(document, ensure_ascii=False) + "\n")
    text_bytes = sum(len(d["text"].encode()) for d in documents)
    print(json.dumps({"version": importlib.metadata.version("datatrove"), "seconds": taken, "text_bytes": text_bytes, "by_group": seconds, "kept": len(kept)}))


main()
