#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A system that makes fewer threads than are asked for, or none. Results are the same; what cannot do without ends with exit
# code 4 and the cause.

load ../cli/common

own_setup() {
    : "${QUERN_FAULTS:?the library that lets calls fail}"
    seq 150 | sed 's/.*/{"id":"&","text":"word& and a sentence about & words, of many alike, in a row"}/' >docs.jsonl
    bzip2 -k docs.jsonl
    zstd -q -k docs.jsonl
}

# with_threads N COMMAND...: no more than N threads beside the first live at a time.
with_threads() {
    local limit=$1
    shift
    LD_PRELOAD=$QUERN_FAULTS QUERN_THREADS=$limit "$@"
}

same_store() { # but for the record of the run
    diff -r --exclude stats.json "$1" "$2"
}

@test "results are the same with fewer threads, and with none" {
    quern build docs.jsonl -o all --threads 4 --quiet
    quern words docs.jsonl -o space --threads 4 --min-count 1 --quiet
    quern ngrams docs.jsonl -o all.tsv --threads 4 --quiet
    local n
    for n in 0 1 2 4 6 9; do
        with_threads "$n" quern build docs.jsonl -o "st$n" --threads 4 --quiet
        same_store all "st$n"
        with_threads "$n" quern search "st$n" "sentence word7" --threads 4 >/dev/null
        with_threads "$n" quern words docs.jsonl -o "space$n" --threads 4 --min-count 1 --quiet
        same_store space "space$n"
        with_threads "$n" quern ngrams docs.jsonl -o "$n.tsv" --threads 4 --quiet
        cmp all.tsv "$n.tsv"
    done
}

@test "compressed files are read without threads of their own" {
    quern build docs.jsonl -o plain --skip all
    local form
    for form in bz2 zst; do
        for n in 0 1 3 6; do
            with_threads "$n" quern build "docs.jsonl.$form" -o "$form$n" --skip all --threads 4 --quiet
            same_store plain "$form$n"
        done
    done
}

@test "a server that can have no thread says so" {
    build docs.jsonl st
    ends_with 4 with_threads 0 quern serve st --port 0
    says "cannot start a thread: Resource temporarily unavailable"
}

@test "addresses that are limited end no run by a signal" {
    build docs.jsonl st
    local kilobytes
    for kilobytes in 60000 90000 130000 200000 400000; do
        run --separate-stderr bash -c "ulimit -v $kilobytes; \"$QUERN\" info st && \"$QUERN\" words docs.jsonl -o sp --force"
        echo "$kilobytes: $status $stderr"
        [ "$status" -eq 0 ] || [ "$status" -eq 4 ] || [ "$status" -eq 127 ]
    done
}
