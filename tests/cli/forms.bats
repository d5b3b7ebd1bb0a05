#!/usr/bin/env bats
# shellcheck disable=SC2016,SC2059,SC2154 # bash -c expands its own text; common and bats set $data, $stderr
# Every output form of every command, against golden files.
load common

own_setup() { build "$data/corpus.jsonl" store; }

@test "search writes TSV" { golden search.tsv quern search store apple bees --quiet; }

@test "search writes JSON lines" { golden search.jsonl quern search store apple bees --quiet --format jsonl; }

@test "search writes a table" { golden search.table quern search store apple bees 東京 --quiet --format table; }

@test "a table is as wide as the terminal and no wider" {
    command -v script >/dev/null || skip "needs script(1) of util-linux"
    NO_COLOR=1 SHELL=/bin/sh script -qec "stty cols 60; '$QUERN' search store apple bees 東京 --quiet" /dev/null </dev/null |
        tr -d '\r' >actual
    matches_golden search.terminal actual
}

# on_terminal COLUMNS COMMAND: what a terminal of that width gets.
on_terminal() {
    command -v script >/dev/null || skip "needs script(1) of util-linux"
    SHELL=/bin/sh script -qec "stty cols $1; $2" /dev/null </dev/null | tr -d '\r'
}

@test "hits on a terminal mark the words of the query" {
    local bold=$'\x1b\\[1m' plain=$'\x1b\\[22m'
    for option in "" --explain; do
        on_terminal 80 "'$QUERN' search store apple bees --quiet $option" >seen
        grep -qi "${bold}apples*$plain" seen
        grep -qi "${bold}bees$plain" seen
        # But for the marks, what a program gets that asks for a table of that width.
        on_terminal 80 "NO_COLOR=1 '$QUERN' search store apple bees --quiet $option" >expected
        run ! grep -q "$bold" expected
        sed 's/\x1b\[[0-9]*m//g' seen | diff expected -
    done
    ! quern search store apple --format table | grep -q "$bold"
}

@test "doctor wraps long notes and truncates nothing" {
    for width in 40 60 80 110; do
        on_terminal $width "'$QUERN' doctor --device cpu" >seen
        run ! grep -q '…' seen
        [ "$width" -lt 60 ] || [ "$(wc -L <seen)" -le "$width" ]
    done
    # The words of the notes are all there, in order, as a file has them.
    quern doctor --device cpu --format jsonl | python3 -c '
import json, re, sys
seen = re.sub(r"\s+", "", open("seen").read())
rows = [json.loads(line) for line in sys.stdin]
for row in rows[:3]:
    assert re.sub(r"\s+", "", row["note"]), row
lines = open("seen").read().split("\n")
start = lines[0].index("note")
column = re.sub(r"\s+", "", "".join(line[start:] for line in lines[1:]))
for row in rows:
    if row["subject"] not in ("scratch space", "memory limit", "memory budget"):
        assert re.sub(r"\s+", "", row["note"]) in column, row'
}

@test "search writes the same to a file" {
    quern search store apple bees --quiet -o hits.tsv
    golden search.tsv cat hits.tsv
}

@test "-o - is standard output" { golden search.tsv quern search store apple bees --quiet -o -; }

@test "several words are one query, in one argument or many" {
    golden search.tsv quern search store "apple bees" --quiet
}

@test "every model ranks" {
    for model in bm25 ql dirichlet two-stage; do
        golden "search.$model.tsv" quern search store apple bees --quiet --model "$model"
    done
    golden search.k1.tsv quern search store apple bees --quiet --k1 2 --b 1
}

@test "-k truncates the ranking, -k all does not" {
    [ "$(quern search store apple --quiet -k 2 | wc -l)" -eq 2 ]
    [ "$(quern search store apple bees --quiet -k all | wc -l)" -eq 4 ]
}

@test "queries from standard input are numbered from 0" {
    printf 'apple\nzebra\nhoney hive\n' >queries
    quern search store --quiet <queries >actual
    matches_golden search.stdin.tsv actual
    quern search store --quiet --format jsonl <queries >actual
    matches_golden search.stdin.jsonl actual
}

@test "topics give a TREC run, to a file or to standard output" {
    golden search.run quern search store --topics "$data/topics.tsv" --quiet
    quern search store --topics "$data/topics.tsv" --run out.run --quiet
    golden search.run cat out.run
}

@test "topics with a format give rows" {
    golden search.topics.tsv quern search store --topics "$data/topics.tsv" --format tsv --quiet
    golden search.topics.jsonl quern search store --topics "$data/topics.tsv" --format jsonl --quiet
}

@test "evaluate writes measure, topic, value" {
    quern search store --topics "$data/topics.tsv" --run out.run --quiet
    golden evaluate.tsv quern evaluate "$data/qrels.txt" out.run --quiet
    golden evaluate.topics.tsv quern evaluate "$data/qrels.txt" out.run --quiet --per-topic
    golden evaluate.jsonl quern evaluate "$data/qrels.txt" out.run --quiet --format jsonl
    golden evaluate.table quern evaluate "$data/qrels.txt" out.run --quiet --format table
}

@test "info shows the content of the store" {
    # Checksums and sizes of sections change with the format; all else does not.
    quern info store | grep -v '^section\.' >actual
    matches_golden info.tsv actual
    quern info store --format jsonl | grep -v '"section\.' >actual
    matches_golden info.jsonl actual
    quern info store --format table | grep -v '^section\.' | sed 's/  *$//; s/   */  /' >actual
    matches_golden info.table actual
    quern info store | grep '^section\.postings\.checksum	[0-9a-f]\{16\}$'
}

@test "verify confirms an intact store" {
    [[ $(quern verify store) == store$'\t'whole$'\t'* ]]
    [ "$(quern verify store --format jsonl | python3 -c 'import json,sys; print(sorted(json.loads(sys.stdin.read())))')" = \
        "['bytes', 'path', 'verdict']" ]
}

@test "doctor fills three columns, in every format" {
    quern doctor >rows
    awk -F'\t' 'NF != 3 || $1 == "" || $2 == "" { exit 1 }' rows
    for subject in processor cores "memory limit" "scratch space" compiler Unicode "store format" "operation search"; do
        grep -q "^$subject	" rows
    done
    grep -q '^operation search	exact	' rows
    quern doctor --format jsonl | python3 -c '
import json, sys
for line in sys.stdin: assert list(json.loads(line)) == ["subject", "value", "note"]'
    [[ $(quern doctor --format table | head -n 1) == subject*value*note ]]
}

@test "doctor shows the effect of other options" {
    quern doctor --memory 1.5G --threads 3 --tmp "$PWD" >rows
    grep -q '^memory budget	1.5 GiB	' rows
    grep -q '^threads	3	' rows
    grep -q "^scratch folder	$PWD	" rows
}

@test "documents never break a row" {
    printf '%s\n' '{"id":"a\tb","title":"x\r\ny","text":"tab\there line\nend \u0000 \u001b[31m red"}' >hostile.jsonl
    build hostile.jsonl hostile
    golden hostile.tsv quern search hostile red --quiet
    golden hostile.jsonl quern search hostile red --quiet --format jsonl
    golden hostile.table quern search hostile red --quiet --format table
}
