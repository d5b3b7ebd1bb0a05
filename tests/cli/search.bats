#!/usr/bin/env bats
# shellcheck disable=SC2154 # common and bats set $data, $stderr
# What a query can say: quotes, histories, why.
load common

own_setup() { build "$data/corpus.jsonl" store; }

ids() { quern search store "$@" --quiet | cut -f 2 | LC_ALL=C sort | tr '\n' ' '; }

@test "text in quotes must occur, word behind word" {
    [ "$(ids 'apple flowers')" = "3 a1 f6 " ]
    [ "$(ids '"apple flowers"')" = "a1 f6 " ]
    [ "$(ids '"Apple, FLOWERS!" bees')" = "a1 f6 " ]
    [ "$(ids 'bees "honey"')" = "b2 " ]
    [ "$(ids '"apple flowers')" = "3 a1 f6 " ] # no closing quote: text
    [ "$(ids '"apple flowers"' --phrases off)" = "3 a1 f6 " ]
    [ "$(ids '"apple trees" "visit the apple"' --model dirichlet)" = "a1 f6 " ]
}

@test "a phrase scores as one word, by every model" {
    for model in bm25 ql dirichlet two-stage; do
        golden "search.phrase.$model.tsv" quern search store '"apple trees" bees' --quiet --model "$model"
    done
}

@test "a phrase that no document holds is named" {
    ends_with 1 quern search store 'bees "hive bees"'
    says 'no document holds "hive bees"'
    ends_with 1 quern search store '"apple zebra"'
    says "no document holds zebra"
    ends_with 1 quern search store '""'
    says "holds no word"
}

@test "quotes in topics are text, unless they are asked to be phrases" {
    printf '1\t"apple flowers"\n' >topics
    [ "$(quern search store --topics topics --quiet | wc -l)" -eq 3 ]
    [ "$(quern search store --topics topics --quiet --phrases on | wc -l)" -eq 2 ]
}

@test "words behind histories" {
    golden search.order.tsv quern search store apple trees bloom --quiet --model ql --order 3
    quern search store apple trees bloom --quiet --model ql >plain
    quern search store apple trees bloom --quiet --model ql --order 1 | cmp - plain
    run diff plain <(quern search store apple trees bloom --quiet --model ql --order 2)
    [ "$status" -eq 1 ]
    ends_with 2 quern search store apple --order 2
    says "--model ql"
    ends_with 2 quern search store apple --model ql --order 0
    ends_with 2 quern search store apple --model ql --order 33
    ends_with 2 quern search store apple --phrases maybe
}

@test "explanations: a column, a list, rows of a table" {
    golden search.explain.tsv quern search store '"apple trees"' bees --quiet --explain
    golden search.explain.table quern search store '"apple trees"' bees --quiet --explain --format table
    golden search.explain.jsonl quern search store bees visit the --quiet --explain --format jsonl --model ql --order 3
    quern search store '"apple trees"' bees --quiet | cmp - <(quern search store '"apple trees"' bees --quiet --explain | cut -f 1-5)
}

@test "explanations add up to the score" {
    for options in '--model bm25' '--model ql' '--model ql --order 3' '--model dirichlet --mu 7' '--model two-stage'; do
        # shellcheck disable=SC2086 # options are several words
        quern search store 'bees bees visit the "apple flowers" hive' --quiet --explain --format jsonl -k all $options >hits
        python3 - hits <<'PYTHON'
import json, sys
hits = [json.loads(line) for line in open(sys.argv[1])]
assert hits
for hit in hits:
    terms = hit["explanation"]
    assert terms and sum(term["score"] for term in terms) == hit["score"], hit
    for term in terms:
        assert sum(term[key] for key in ("part", "background", "length_part", "title_part")) == term["score"], term
PYTHON
    done
}

@test "explanations have no place in a TREC run" {
    ends_with 2 quern search store --topics "$data/topics.tsv" --explain
    says "--format"
    ends_with 2 quern search store --topics "$data/topics.tsv" --explain --run out.run --format tsv
    quern search store --topics "$data/topics.tsv" --explain --format jsonl --quiet | grep -q '"explanation":\[{"term":'
    printf 'apple\n' | quern search store --quiet --explain --format jsonl | grep -q '"explanation":\[{"term":"apple"'
}
