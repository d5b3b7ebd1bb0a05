#!/usr/bin/env bats
# quern build of an index (CIFF) and of learned weights: stores without texts.
load common

@test "an index of a store gives the same run, and says what it cannot do" {
    build "$data/corpus.jsonl" store
    quern export store --ciff store.ciff.gz --quiet
    ends_with 0 quern build store.ciff.gz -o other --quiet
    for options in "--model bm25" "--model lucene" "--model dirichlet" "--model pl2" "--feedback rm3"; do
        # shellcheck disable=SC2086 # an option and its value
        quern search store --topics "$data/topics.tsv" --run one.run --force --quiet $options
        # shellcheck disable=SC2086
        quern search other --topics "$data/topics.tsv" --run two.run --force --quiet $options
        cmp one.run two.run
    done
    [ "$(quern info other | grep -c '^listed	counts$')" -eq 1 ]
    quern verify other --quiet
    # The words, and without a text no snippets.
    quern search store mill -k 3 --format jsonl --title-weight 0 >one
    quern search other mill -k 3 --format jsonl >two
    python3 - one two <<'PY'
import json, sys
one, two = ([json.loads(line) for line in open(name)] for name in sys.argv[1:])
assert one and [(hit["id"], hit["score"]) for hit in one] == [(hit["id"], hit["score"]) for hit in two]
assert all(hit["snippet"] == "" for hit in two)
PY
    # And the same index again.
    quern export store --ciff one.ciff --quiet
    quern export other --ciff two.ciff --quiet
    cmp one.ciff two.ciff
    refused "phrases need" search other '"mill stone"'
    refused "pairs of words need" search other mill --dependence sdm
    refused "counts of n-grams need" count other mill
    refused "n-grams need" export other --arpa x.arpa
    ends_with 3 quern words store.ciff.gz -o space --quiet
    says "only quern build and search read it"
}

@test "an index is analysed as its words are" {
    printf '{"id":"a","text":"running mills"}\n{"id":"b","text":"a mill runs"}\n' >corpus.jsonl
    build corpus.jsonl store --stem porter
    quern export store --ciff store.ciff --quiet
    quern build store.ciff -o stemmed --stem porter --quiet
    [ "$(quern search stemmed Running --quiet | cut -f 2 | tr '\n' ' ')" = "a b " ]
    quern build store.ciff -o verbatim --tokens blanks --quiet
    ends_with 1 quern search verbatim Running --quiet
    [ "$(quern search verbatim run --quiet | cut -f 2 | tr '\n' ' ')" = "a b " ]
}

@test "an index is updated by documents of another, and only by such" {
    printf '{"id":"a","text":"one mill"}\n' >a.jsonl
    printf '{"id":"b","text":"two mills"}\n' >b.jsonl
    cat a.jsonl b.jsonl >both.jsonl
    for name in a b both; do
        build $name.jsonl $name
        quern export $name --ciff $name.ciff --quiet
    done
    quern build a.ciff -o store --quiet
    quern build b.ciff -o store --update --quiet
    quern export store --ciff again.ciff --quiet
    cmp both.ciff again.ciff
    refused "lists of words and other documents" build b.jsonl -o store --update --quiet
    refused "lists of words and other documents" build a.ciff b.jsonl -o other --quiet
    [ ! -e other ]
}

@test "a damaged index is refused with the byte and the message, and leaves nothing" {
    build "$data/corpus.jsonl" store
    quern export store --ciff store.ciff --quiet
    mkdir out
    size=$(wc -c <store.ciff)
    for bytes in 60 200 $((size - 1)); do
        head -c "$bytes" store.ciff >cut.ciff
        ends_with 3 quern build cut.ciff -o out/store --quiet --input-format ciff
        says "byte $bytes, "
        says "is it cut off?"
        nothing_left out
    done
    { cat store.ciff; printf x; } >more.ciff
    ends_with 3 quern build more.ciff -o out/store --quiet
    says "bytes follow the last document record"
    nothing_left out
    head -c 3000 /dev/urandom >noise.ciff
    ends_with 3 quern build noise.ciff -o out/store --quiet --input-format ciff
    nothing_left out
}
