#!/usr/bin/env bats
# shellcheck disable=SC2154 # bats and common set $stderr
# Parquet files as a corpus: the same as their rows in JSON lines, from a file, a folder, a pipe, or compressed.
load common

setup_file() {
    export files=$BATS_TEST_DIRNAME/../io/parquet/files
}

same_stores() { diff -r --exclude=stats.json --exclude='*.log' "$1" "$2"; }

@test "a build of Parquet is that of its rows in JSON lines, byte for byte" {
    quern build "$files/expected.jsonl" -o lines --skip all --quiet
    for name in plain snappy_pages gzip_v2 zstd_v2_fronts lz4_lengths; do
        quern build "$files/$name.parquet" -o "$name" --skip all --quiet --max-errors 2
        same_stores lines "$name"
    done
    quern build "$files/plain.parquet" -o small --skip all --quiet --max-errors 2 --threads 1 --memory 8M
    same_stores lines small
    quern search plain va -k 3 >rows
    quern search lines va -k 3 | diff - rows
}

@test "standard input, a compressed file and a folder are read too" {
    quern build "$files/plain.parquet" -o plain --skip all --quiet --max-errors 2
    quern build - --input-format parquet -o piped --skip all --quiet --max-errors 2 <"$files/plain.parquet"
    same_stores plain piped
    gzip -c "$files/plain.parquet" >plain.parquet.gz
    quern build plain.parquet.gz -o packed --skip all --quiet --max-errors 2
    same_stores plain packed
    mkdir -p folder/part
    cp "$files/plain.parquet" folder/part/
    quern build folder -o in_folder --skip all --quiet --max-errors 2
    same_stores plain in_folder
}

@test "dedup writes what it keeps as JSON lines, with all columns" {
    cp "$files/plain.parquet" a.parquet
    quern dedup a.parquet --max-errors 2 --threshold 0.001 -o kept.jsonl --quiet
    [ "$(wc -l <kept.jsonl)" -ge 4 ]
    head -n 1 kept.jsonl | grep -F '"price":-12.50,"day":"2024-02-29","at":"2024-02-29T23:59:59.123456Z"'
}

@test "what cannot be read is refused, with the file, the column and a remedy" {
    run --separate-stderr quern build "$files/special_brotli.parquet" -o store
    [ "$status" -eq 3 ]
    [[ $stderr == *'special_brotli.parquet: row group 0, column "text": compressed by brotli, which is not read; write'* ]]
    run --separate-stderr quern build "$files/special_nested_text.parquet" -o store
    [ "$status" -eq 3 ]
    [[ $stderr == *'the text needs a column of strings, and "text" is a list'* ]]
    run --separate-stderr quern build "$files/special_lie.parquet" -o store --memory 64M
    [ "$status" -eq 3 ]
    [[ $stderr == *'special_lie.parquet:1: the rows from here to 3 are lost: a page of a Parquet file needs 1.8 GiB'* ]]
    [ ! -e store ]
}
