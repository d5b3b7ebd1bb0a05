#!/usr/bin/env bats
# shellcheck disable=SC2154 # bats and common set $stderr
# Arrow files and streams as a corpus: the same as their rows in JSON lines, from a file, a folder, a pipe, or compressed.
load common

setup_file() {
    export files=$BATS_TEST_DIRNAME/../io/arrow/files
    export rows=$BATS_TEST_DIRNAME/../io/parquet/files/expected.jsonl
}

same_stores() { diff -r --exclude=stats.json --exclude='*.log' "$1" "$2"; }

@test "a build of Arrow is that of its rows in JSON lines, byte for byte" {
    quern build "$rows" -o lines --skip all --quiet
    for name in plain.arrow zstd.arrow views.arrow keys.arrow stream_zstd.arrows; do
        quern build "$files/$name" -o "$name" --skip all --quiet --max-errors 2
        same_stores lines "$name"
    done
    quern build "$files/large_lz4.arrow" -o small --skip all --quiet --max-errors 2 --threads 1 --memory 8M
    same_stores lines small
}

@test "standard input, a compressed file and a folder are read too" {
    quern build "$files/plain.arrow" -o plain --skip all --quiet --max-errors 2
    quern build - --input-format arrow -o piped --skip all --quiet --max-errors 2 <"$files/stream.arrows"
    same_stores plain piped
    gzip -c "$files/plain.arrow" >plain.arrow.gz
    quern build plain.arrow.gz -o packed --skip all --quiet --max-errors 2
    same_stores plain packed
    mkdir -p folder/part
    cp "$files/plain.arrow" folder/part/
    quern build folder -o in_folder --skip all --quiet --max-errors 2
    same_stores plain in_folder
}

@test "dedup and filter write what they keep as JSON lines, with all columns" {
    cp "$files/keys.arrow" a.arrow
    quern dedup a.arrow --max-errors 2 --threshold 0.001 -o kept.jsonl --quiet
    [ "$(wc -l <kept.jsonl)" -ge 4 ]
    head -n 1 kept.jsonl | grep -F '"price":-12.50,"day":"2024-02-29","at":"2024-02-29T23:59:59.123456Z"'
    quern dedup a.arrow --max-errors 2 --threshold 0.001 -o folder/ --quiet
    cmp folder/a.arrow.jsonl kept.jsonl
    quern filter a.arrow --max-errors 2 --rules gopher-quality.min-words=4 -o filtered.jsonl --quiet
    head -n 1 filtered.jsonl | grep -F '"price":'
}

@test "what cannot be read is refused, with the file, the column and a remedy" {
    run --separate-stderr quern build "$files/special_nested_text.arrow" -o store
    [ "$status" -eq 3 ]
    [[ $stderr == *'the text needs a column of strings, and "text" is a list'* ]]
    head -c 5000 "$files/plain.arrow" >cut.arrow
    run --separate-stderr quern build cut.arrow -o store
    [ "$status" -eq 3 ]
    [[ $stderr == *'cut.arrow: an Arrow file that cannot be read: it is cut off: its footer is missing'* ]]
    [ ! -e store ]
}
