#!/usr/bin/env bats
# shellcheck disable=SC2154 # bats and common set $stderr
# Files of columns, Parquet and Arrow, as a corpus: the same as their rows in JSON lines, from a file, a folder, a pipe, or
# compressed.
load common

setup_file() {
    export parquet=$BATS_TEST_DIRNAME/../io/parquet/files
    export arrow=$BATS_TEST_DIRNAME/../io/arrow/files
}

same_stores() { diff -r --exclude=stats.json --exclude='*.log' "$1" "$2"; }

@test "a build of columns is that of their rows in JSON lines, byte for byte" {
    local file name
    quern build "$parquet/expected.jsonl" -o lines --skip all --quiet
    for file in "$parquet"/{plain,snappy_pages,gzip_v2,zstd_v2_fronts,lz4_lengths}.parquet \
        "$arrow"/{plain.arrow,zstd.arrow,views.arrow,keys.arrow,stream_zstd.arrows}; do
        name=${file##*/}
        quern build "$file" -o "$name" --skip all --quiet --max-errors 2
        same_stores lines "$name"
    done
    for file in "$parquet/plain.parquet" "$arrow/large_lz4.arrow"; do
        quern build "$file" -o small --skip all --quiet --max-errors 2 --threads 1 --memory 8M --force
        same_stores lines small
    done
    quern search plain.parquet va -k 3 >rows
    quern search lines va -k 3 | diff - rows
}

@test "standard input, a compressed file and a folder are read too" {
    local file form stream
    mkdir -p folder/part
    for form in parquet arrow; do
        file=${!form}/plain.$form stream=${!form}/plain.parquet
        [ $form = parquet ] || stream=$arrow/stream.arrows
        quern build "$file" -o plain --skip all --quiet --max-errors 2 --force
        quern build - --input-format $form -o piped --skip all --quiet --max-errors 2 --force <"$stream"
        same_stores plain piped
        gzip -c "$file" >plain.$form.gz
        quern build plain.$form.gz -o packed --skip all --quiet --max-errors 2 --force
        same_stores plain packed
        rm -f folder/part/*
        cp "$file" folder/part/
        quern build folder -o in_folder --skip all --quiet --max-errors 2 --force
        same_stores plain in_folder
    done
}

@test "dedup and filter write what they keep as JSON lines, with all columns" {
    local form fields='"price":-12.50,"day":"2024-02-29","at":"2024-02-29T23:59:59.123456Z"'
    cp "$parquet/plain.parquet" a.parquet
    cp "$arrow/keys.arrow" a.arrow
    for form in parquet arrow; do
        quern dedup a.$form --max-errors 2 --threshold 0.001 -o kept.$form.jsonl --quiet
        [ "$(wc -l <kept.$form.jsonl)" -ge 4 ]
        head -n 1 kept.$form.jsonl | grep -F "$fields"
        quern filter a.$form --max-errors 2 --rules gopher-quality.min-words=4 -o filtered.jsonl --quiet --force
        head -n 1 filtered.jsonl | grep -F '"price":'
    done
    cmp kept.parquet.jsonl kept.arrow.jsonl
    quern dedup a.arrow --max-errors 2 --threshold 0.001 -o folder/ --quiet
    cmp folder/a.arrow.jsonl kept.arrow.jsonl
}

@test "unreadable columns are refused, with the file, the column and a remedy" {
    local file
    for file in "$parquet/special_nested_text.parquet" "$arrow/special_nested_text.arrow"; do
        ends_with 3 quern build "$file" -o store
        [[ $stderr == *'the text needs a column of strings, and "text" is a list'* ]]
    done
    ends_with 3 quern build "$parquet/special_lie.parquet" -o store --memory 64M
    [[ $stderr == *'special_lie.parquet:1: the rows from here to 3 are lost: a page of a Parquet file needs 1.8 GiB'* ]]
    head -c 5000 "$arrow/plain.arrow" >cut.arrow
    ends_with 3 quern build cut.arrow -o store
    [[ $stderr == *'cut.arrow: an Arrow file that cannot be read: it is cut off: its footer is missing'* ]]
    [ ! -e store ]
}
