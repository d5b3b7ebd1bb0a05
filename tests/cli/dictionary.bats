#!/usr/bin/env bats
# quern dictionary: the words of a corpus and their ids, as a file.
load common

own_setup() {
    printf '{"id":"1","text":"The cat and the hat."}\n{"id":"2","text":"A cat, 42 cats!"}\n' >corpus.jsonl
}

@test "info shows the content of a dictionary, and verify finds no damage" {
    run --separate-stderr quern dictionary corpus.jsonl -o made --stats stats
    [ "$status" -eq 0 ]
    [ -z "$output" ]
    [[ $stderr == *"2 documents, 9 words, 7 distinct, 7 in the dictionary"* ]]
    [ "$(json stats 'd["counts"]["occurrences"], d["counts"]["words"]')" = "(9, 7)" ]
    [ "$(quern info made --quiet | grep -cE '^(kind	dictionary|words	7|distinct	7|occurrences	9|tokens	unicode)$')" -eq 5 ]
    [ "$(quern verify made --quiet)" = "made	whole	$(stat -c %s made)" ]
}

@test "the same bytes whatever the threads and the memory; the most frequent words only" {
    quern dictionary corpus.jsonl -o one --threads 1 --quiet
    quern dictionary corpus.jsonl -o three --threads 3 --memory 64M --quiet
    cmp one three
    quern dictionary corpus.jsonl -o two --vocabulary 2 --quiet
    [ "$(quern info two --quiet | grep -cE '^(words	2|occurrences_of_words	4)$')" -eq 2 ]
    quern dictionary corpus.jsonl -o often --min-count 2 --quiet
    [ "$(quern info often --quiet | grep '^words	')" = "words	2" ]
}

@test "a list of words is used unchanged" {
    printf 'Zebra\napple pie\n\napple pie\n' >list
    quern dictionary list --input-format lines -o made --quiet
    [ "$(quern info made --quiet | grep -cE '^(words	2|verbatim	1|occurrences	3)$')" -eq 3 ]
}

@test "impossible requests" {
    quern dictionary corpus.jsonl -o made --quiet
    ends_with 2 quern dictionary corpus.jsonl -o made
    quern dictionary corpus.jsonl -o made --force --quiet
    ends_with 2 quern dictionary corpus.jsonl
    ends_with 2 quern dictionary corpus.jsonl -o -
    ends_with 2 quern dictionary made -o other
    [[ $stderr == *"is not a corpus"* ]]
    ends_with 2 quern dictionary corpus.jsonl -o corpus.jsonl --force
    ends_with 2 quern dictionary corpus.jsonl -o other --device cuda
    ends_with 2 quern dictionary corpus.jsonl -o other --min-count 0
    ends_with 2 quern dictionary missing -o other
    [ ! -e other ]
}

@test "damage is found and reported" {
    quern dictionary corpus.jsonl -o made --quiet
    printf 'X' | dd of=made bs=1 seek=100 conv=notrunc 2>dd.log
    ends_with 5 quern verify made
    [[ $stderr == *"is damaged at byte 0"* ]]
    head -c 300 made >cut
    ends_with 5 quern info cut
}
