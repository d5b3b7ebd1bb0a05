#!/usr/bin/env bats
# shellcheck disable=SC2154 # common and bats set $data, $stderr
# quern count: words one behind the other, in a store.
load common

own_setup() {
    printf '%s\n' '{"id":"b","title":"Steam engine","text":"The steam engine: a steam engine drives"}' \
        '{"id":"a","text":"ha ha ha"}' '{"id":"c","title":"steam","text":"engine, they say"}' >corpus.jsonl
    build corpus.jsonl store
}

@test "documents in input order, with the number of occurrences in each" {
    [ "$(quern count store steam engine --quiet)" = "b	3
c	1" ]
    [ "$(quern count store "Steam ENGINE" --quiet)" = "b	3
c	1" ]
    [ "$(quern count store steam --quiet --format jsonl)" = '{"doc":"b","count":3}
{"doc":"c","count":1}' ]
    [ "$(quern count store ha ha --quiet)" = "a	2" ]
    [ "$(quern count store steam engine drives --quiet)" = "b	1" ]
}

@test "the collection's counts: in a message, in the statistics, with --total" {
    run --separate-stderr quern count store steam engine --stats stats
    [[ $stderr == *"'steam engine': 4 occurrences in 2 of 3 documents"* ]]
    [ "$(json stats '[d["counts"][k] for k in ("occurrences", "followed", "hits", "documents", "queries")]')" = "[4, 4, 2, 3, 1]" ]
    [ "$(quern count store ha --total --quiet)" = "ha	3	1	2" ]
    quern count store ha ha --total --quiet --format table | grep -q "^words  *count  *documents  *followed"
}

@test "n-grams from standard input, a line each" {
    printf 'steam engine\nnothing here\n\nha' | quern count store --quiet >rows 2>said
    [ "$(cat rows)" = "0	b	3
0	c	1
3	a	3" ]
    [ "$(grep -c "nothing found" said)" -eq 2 ]
    printf 'steam engine\nengine steam\nzebra\n' | quern count store --total --quiet >rows 2>said
    [ "$(cat rows)" = "0	steam engine	4	2	4
1	engine steam	0	0	0
2	zebra	0	0	0" ]
}

@test "the same for any threads and memory, with stop words and stems of the store" {
    build corpus.jsonl other --threads 1 --memory 64M
    diff -r -x stats.json store other
    build corpus.jsonl stemmed --stem porter --stop-words lucene
    [ "$(quern count stemmed "a STEAMED engines" --quiet)" = "$(quern count stemmed steam engine --quiet)" ]
    [ "$(quern count stemmed "engine steam engine" --total --quiet | cut -f 2-)" = "2	1	2" ] # "a" is left out
}

@test "a list of words is used unchanged" {
    printf 'New York\nis\n\nis New York\n' >list
    build list words --input-format lines
    ends_with 1 quern count words New
    says "nothing found: no document contains New"
    [ "$(quern count words is --quiet)" = "0	1" ] # the second document's one word is "is New York"
    # With a tab, words stand between tabs and may hold blanks.
    [ "$(quern count words $'New York\t' --quiet)" = "0	1" ]
    [ "$(quern count words $'New York\tis' --quiet)" = "0	1" ]
    [ "$(quern count words $'is New York\t' --quiet)" = "1	1" ]
    [ "$(quern search words $'"New York\tis"\tis New York' --quiet --format tsv | cut -f 2)" = "0" ]
    printf '7\tNew York\tis New York\n' >topics
    [ "$(quern search words --topics topics --run - --quiet | cut -d ' ' -f 3 | sort)" = "0
1" ]
}

@test "nothing found, and impossible requests" {
    ends_with 1 quern count store engine steam engine steam
    says "nothing found: no document contains 'engine steam engine steam'"
    [ -z "$output" ]
    ends_with 1 quern count store steam zebra
    says "nothing found: no document contains zebra"
    ends_with 1 quern count store "..."
    says "nothing found: '...' contains no word"
    ends_with 2 quern count nowhere steam
    says "nowhere: no such store"
    ends_with 2 quern count corpus.jsonl steam
    says "not a store"
    ends_with 2 quern count
    ends_with 2 quern count store steam --device cuda
    ends_with 2 quern count store steam -o store/rows
}

@test "a store of another version is rejected" {
    sed -i 's/"version": [0-9]*/"version": 1/' store/store.json
    ends_with 5 quern count store steam
    says "has format version 1, but this program reads version "
}

@test "a query without words is reported" {
    ends_with 1 quern count store </dev/null
    says "no words: standard input is empty"
    ends_with 1 quern search store </dev/null
    says "no query: standard input is empty"
}
