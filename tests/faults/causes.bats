#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154 # bats sets $stderr
# A call of the system fails, and the message names that cause: it is not taken for a fault of the input.

load ../cli/common

own_setup() {
    : "${QUERN_FAULTS:?the library that lets calls fail}"
    seq 40 | sed 's/.*/{"id":"&","text":"word& and a sentence about & words, of many alike, in a row"}/' >docs.jsonl
}

# failing CALL:N:CODE COMMAND...: one system call fails in this command.
failing() {
    local fault=$1
    shift
    LD_PRELOAD=$QUERN_FAULTS QUERN_FAULT=$fault "$@"
}

# allocations COMMAND...: how many the command makes.
allocations() {
    rm -f counts
    LD_PRELOAD=$QUERN_FAULTS QUERN_FAULT_LOG=counts "$@" >/dev/null 2>&1
    awk '$1 == "memory" { print $2 }' counts
}

@test "an allocation that fails anywhere: the same result, or 4 and that memory ran out" {
    quern build docs.jsonl -o st --skip all --quiet
    quern verify st >whole
    local count at status
    count=$(allocations quern verify st --threads 2)
    [ "$count" -gt 300 ]
    for at in $(seq 1 $((count / 40)) "$count"); do # also in what the standard library declares noexcept
        status=0
        failing "memory:$at:12" quern verify st --threads 2 >found 2>said || status=$?
        echo "allocation $at: exit code $status; said: $(cat said)"
        if [ "$status" -eq 0 ]; then
            cmp whole found
        else
            [ "$status" -eq 4 ]
            grep -q "out of memory" said
        fi
    done
}

@test "an allocation of ICU or of the JSON parser fails: 4, not malformed JSON, no endless loop" {
    local count at status
    count=$(allocations quern signature docs.jsonl --threads 1)
    for at in $(seq $((count / 3)) $((count / 25)) "$count"); do
        status=0
        failing "memory:$at:12" timeout 20 "$QUERN" signature docs.jsonl --threads 1 >found 2>said || status=$?
        echo "allocation $at: exit code $status; said: $(cat said)"
        [ "$status" -eq 0 ] || { [ "$status" -eq 4 ] && grep -q "out of memory" said; }
    done
    quern words docs.jsonl -o whole --min-count 1 --quiet
    count=$(allocations quern words docs.jsonl -o sp --min-count 1 --threads 1)
    for at in $(seq 1200 190 "$count"); do # the rules and dictionaries of ICU are loaded early
        rm -rf sp
        status=0
        failing "memory:$at:12" timeout 20 "$QUERN" words docs.jsonl -o sp --min-count 1 --threads 1 2>said || status=$?
        echo "allocation $at: exit code $status; said: $(cat said)"
        if [ "$status" -eq 0 ]; then
            diff -r --exclude stats.json whole sp
        else
            [ "$status" -eq 4 ]
            grep -q "of memory\|Cannot allocate memory" said
        fi
    done
}

@test "memory runs out after a stage: the message says that it is kept, and the same command goes on" {
    local count at status=0
    count=$(allocations quern build docs.jsonl -o st --threads 1)
    rm -r st
    for at in $(seq $((count * 2 / 3)) 97 "$count"); do
        rm -rf st
        status=0
        failing "memory:$at:12" quern build docs.jsonl -o st --threads 1 --quiet 2>said || status=$?
        [ "$status" -ne 0 ] && break
    done
    echo "allocation $at: exit code $status; said: $(cat said)"
    [ "$status" -eq 4 ]
    grep -q "out of memory.*finished stages are kept; the same command resumes from there\|of memory; .* are kept" said
    quern build docs.jsonl -o st --threads 1 2>said
    grep -q "made by an earlier run\|resum\|already" said
    [ -z "$(find . -name '.*.quern-*')" ]
}

@test "a compact model that cannot be opened is not read as text" {
    quern ngrams docs.jsonl --arpa a.arpa --order 2 --quiet
    quern model a.arpa -o a.model --quiet
    local at status
    for at in $(seq 1 8); do
        status=0
        failing "open:$at:24" quern perplexity a.model docs.jsonl --quiet >/dev/null 2>said || status=$?
        echo "open $at: exit code $status; said: $(cat said)"
        [ "$status" -eq 0 ] || { [ "$status" -eq 4 ] && grep -q "Too many open files" said; }
    done
    ends_with 2 quern model a.arpa -o /dev/null --force
    says "is not a file on a disk"
}

@test "a store or an input that cannot be looked at: 4 and the cause, not that there is none" {
    quern build docs.jsonl -o st --skip all --quiet
    local at status command
    for command in "info st" "search st word7" "build docs.jsonl -o other --skip all --force"; do
        for at in $(seq 1 12); do
            status=0
            # shellcheck disable=SC2086 # words of a command
            failing "stat:$at:5" quern $command --quiet >/dev/null 2>said || status=$?
            echo "$command, stat $at: exit code $status; said: $(cat said)"
            [ "$status" -eq 0 ] || { [ "$status" -eq 4 ] && grep -q "Input/output error" said; }
        done
    done
}

@test "a full disk: the message says what to do" {
    local at status output=no
    for at in $(seq 1 60); do
        rm -rf st
        status=0
        failing "write:$at:28" quern build docs.jsonl -o st --skip all --quiet 2>said || status=$?
        [ "$status" -ne 0 ] || break
        grep -q "No space left on device.*; make room there, or choose another " said
        if grep -q "/.quern-scratch-" said; then grep -q "with --tmp" said; fi
        if grep -q "another output" said; then output=yes; fi
    done
    [ "$output" = yes ]
}

@test "a file of vectors that is refused after a stage: the message says that the stage is kept" {
    printf 'not vectors' >v.fvecs
    ends_with 3 quern build docs.jsonl -o st --vectors v.fvecs --quiet
    says "finished stages are kept; the same command resumes from there"
}
