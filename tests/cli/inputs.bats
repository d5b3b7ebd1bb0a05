#!/usr/bin/env bats
# shellcheck disable=SC2154 # common and bats set $data, $stderr
# Inputs by patterns and from lists of files; standard input of every form.
load common

own_setup() {
    mkdir -p shards/part/deep shards/.hidden
    for i in 1 2 3; do
        echo "{\"id\":\"$i\",\"text\":\"Text number $i, unlike the others: $i$i$i$i\"}" >"shards/p$i.jsonl"
    done
    echo '{"id":"4","text":"A text far below"}' | zstd -q >shards/part/deep/p4.jsonl.zst
    cp shards/p1.jsonl shards/.hidden/p9.jsonl
}

kept() { quern dedup --quiet -o - "$@" | grep -o '"id":"[^"]*"' | tr -dc '0-9\n' | paste -sd ' '; }

@test "a pattern is expanded in byte order, and stands for files and folders" {
    [ "$(kept 'shards/p*.jsonl')" = "1 2 3" ]
    [ "$(kept 'shards/p[23].jsonl' 'shards/p?.jsonl' --ids generate | wc -w)" -eq 5 ] || kept 'shards/p[23].jsonl'
    [ "$(kept 'shards/**/*.zst')" = 4 ]
    [ "$(kept 'shards/**')" = "1 2 3 4" ]
    [ "$(kept 'sh*/part/')" = 4 ]
    [ "$(kept "$PWD/shards/p[!12]*")" = "3 4" ] || [ "$(kept "$PWD/shards/p[!12].*")" = 3 ]
    [ "$(kept 'shards/.hid*/*')" = 1 ]
    # A name that is there is that file.
    cp shards/p2.jsonl 'shards/p[1].jsonl'
    [ "$(kept 'shards/p[1].jsonl')" = 2 ]
}

@test "a pattern without matches is an error, a missing name another one" {
    refused "no file matches shards/q*.jsonl" dedup 'shards/q*.jsonl'
    refused "no file matches none/*" build 'none/*' -o store
    refused "shards/q.jsonl: no such file or folder" dedup shards/q.jsonl
    [ ! -e store ]
}

@test "a list of files, from a file and from standard input" {
    printf 'shards/p3.jsonl\n\nshards/p1.jsonl\r\n' >list
    [ "$(kept --files-from list)" = "3 1" ]
    [ "$(kept shards/p2.jsonl --files-from list)" = "2 3 1" ]
    [ "$(printf 'shards/p*.jsonl\n' | kept --files-from -)" = "1 2 3" ]
    mv shards/p2.jsonl $'shards/two\nlines.jsonl'
    [ "$(find shards -maxdepth 1 -name '*.jsonl' -print0 | LC_ALL=C sort -z | kept --files-from -)" = "1 3 2" ]
    : >empty
    refused "empty lists no inputs" dedup --files-from empty
    echo - >dash
    refused "dash lists -, which is standard input" dedup --files-from dash
    ends_with 4 quern dedup --files-from missing
    refused "use --files-from FILE" dedup --inputs list
}

@test "every command that reads a corpus takes both" {
    ls shards/p?.jsonl >list
    build 'shards/p*.jsonl' store
    quern build --files-from list -o listed --skip all --quiet
    cmp store/store.json listed/store.json
    [ "$(quern search 'shards/p*.jsonl' text --quiet --format tsv | wc -l)" -eq 3 ]
    [ "$(quern signature --files-from list --quiet | wc -l)" -eq 3 ]
    quern dictionary --files-from list -o words.dictionary --quiet
    [ "$(quern ngrams 'shards/p*.jsonl' --order 1 --quiet | cut -f 1 | sort -u | wc -l)" -ge 3 ]
    quern decontaminate --files-from list --against 'shards/p1*' --ngram 3 -o clean.jsonl --quiet
    [ "$(wc -l <clean.jsonl)" -eq 2 ]
    refused "TRAIN is required" decontaminate --against shards/p1.jsonl
    for command in "build -o none" dedup signature "dictionary -o none" ngrams "words -o none"; do
        # shellcheck disable=SC2086 # a command and its options
        refused "CORPUS is required" $command
    done
    refused "requires a corpus" search store text --files-from list
}

@test "standard input of every form, plain and compressed" {
    from() { # from FORM COMPRESSION...: the output for what stands on standard input
        local form=$1
        shift
        "$@" | quern dedup - --input-format "$form" -o - --quiet
    }
    cat shards/p?.jsonl | from jsonl gzip | cmp - <(cat shards/p?.jsonl)
    printf 'a\tone\nb\ttwo words\n' | from tsv zstd -q | cmp - <(printf 'a\tone\nb\ttwo words\n')
    printf 'id,text\na,one\n' | from csv bzip2 | cmp - <(printf 'id,text\na,one\n')
    printf '<DOC>\n<DOCNO>1</DOCNO>\n<TEXT>one text</TEXT>\n</DOC>\n' | from trec xz | grep -qx '{"id":"1","text":"one text"}'
    printf '<doc id="7" url="u" title="T">\nT\n\nA text\n</doc>\n' | from wikiextractor cat | grep -q '"id":"7"'
    printf 'a\nb\n' | from lines gzip | grep -qx '{"id":"0","text":"a\\nb"}'
    bzip2 -c "$BATS_TEST_DIRNAME/../../docs/sample/wiki.xml" | from wikipedia cat >of_pipe
    quern dedup "$BATS_TEST_DIRNAME/../../docs/sample/wiki.xml" -o of_file --quiet
    cmp of_pipe of_file
    echo 'Text of one document' | from folder gzip | grep -q '"text":"Text of one document'
    printf 'a\0b' | quern signature - --binary --quiet | grep -q .
}
