#!/usr/bin/env bats
# shellcheck disable=SC2016,SC2059,SC2154 # bash -c expands its own text; common and bats set $data, $stderr
# Every form of corpus, plain, compressed and from a pipe: what is read, and what is said of the rest.
load common

# built NAME CORPUS OPTION...: builds, and compares both the remarks and the documents with golden files.
built() {
    local name=$1 corpus=$2
    shift 2
    quern build "$corpus" -o store "$@" 2>said
    sed "s#$data/##g" said >said.short
    matches_golden "corpus.$name.said" said.short
    # The whole collection, in its order: a query of words that every document holds one of.
    quern search store apple bee bees tree pear りんご 蜜蜂 bienen -k all --quiet >rows
    matches_golden "corpus.$name.tsv" rows
}

@test "JSON lines" { built jsonl "$data/corpus.jsonl"; }
@test "TSV" { built tsv "$data/corpus.tsv"; }
@test "word lines, never guessed" { built lines "$data/corpus.lines" --input-format lines; }

same_store() { # same_store A B: byte for byte, the record of the run excepted
    diff -r --exclude stats.json "$1" "$2"
}

compressed() { # compressed PROGRAM SUFFIX
    command -v "$1" >/dev/null || skip "needs $1"
    build "$data/corpus.jsonl" plain
    "$1" -c "$data/corpus.jsonl" >"corpus.$2"
    build "corpus.$2" packed
    same_store plain packed
    mv "corpus.$2" corpus.jsonl # told from the content, not from the name
    build corpus.jsonl renamed
    same_store plain renamed
    "$1" -c "$data/corpus.jsonl" | quern build - -o piped --quiet
    same_store plain piped
}

@test "gzip" { compressed gzip gz; }
@test "bzip2" { compressed bzip2 bz2; }
@test "zstd" { compressed zstd zst; }
@test "xz" { compressed xz xz; }

@test "standard input is JSON lines" {
    build "$data/corpus.jsonl" plain
    quern build - -o piped --quiet <"$data/corpus.jsonl"
    same_store plain piped
}

@test "several inputs are one collection, in the order given" {
    quern build "$data/corpus.jsonl" "$data/garden" -o store --quiet
    [ "$(quern info store | awk '$1 == "documents" { print $2 }')" -eq 11 ]
}

@test "search on a corpus builds a store once and finds it again" {
    ends_with 0 quern search "$data/corpus.jsonl" apple
    [ "${#lines[@]}" -eq 3 ]
    [[ $stderr == *"building a store in $QUERN_CACHE/"* ]]
    first=$output
    ends_with 0 quern search "$data/corpus.jsonl" apple
    [[ $stderr == *"using the store kept in $QUERN_CACHE/"* ]]
    [ "$output" = "$first" ]
}

@test "the cache notices a changed corpus and other text options" {
    cp "$data/corpus.jsonl" mine.jsonl
    quern search mine.jsonl apple --quiet
    echo '{"id": "new", "text": "Another apple."}' >>mine.jsonl
    [ "$(quern search mine.jsonl apple --quiet | wc -l)" -eq 4 ]
    ends_with 0 quern search mine.jsonl apples --stem porter
    [[ $stderr == *"building a store"* ]]
    [ "${#lines[@]}" -eq 4 ]
}

@test "the cache folder follows XDG_CACHE_HOME, then HOME" {
    unset QUERN_CACHE
    XDG_CACHE_HOME=$PWD/xdg quern search "$data/corpus.jsonl" apple --quiet
    [ -d xdg/quern ]
    env -u XDG_CACHE_HOME HOME="$PWD/home" "$QUERN" search "$data/corpus.jsonl" apple --quiet
    [ -d home/.cache/quern ]
}

@test "rejected documents are told with file and line, the first ten and a count" {
    { cat "$data/corpus.jsonl"; for i in $(seq 12); do echo "broken $i"; done; } >mixed.jsonl
    ends_with 0 quern build mixed.jsonl -o store --max-errors 12
    [[ $stderr == *"warning: mixed.jsonl:7: "* ]]
    [[ $stderr == *"… and 2 more"* ]]
    [[ $stderr == *"12 rejected"* ]]
    [ "$(grep -c 'warning: mixed.jsonl:' <<<"$stderr")" -eq 10 ]
    [ "$(json store/stats.json "d['counts']['rejected']")" -eq 12 ]
}

@test "a cut-off file keeps what came before the cut" {
    command -v gzip >/dev/null || skip "needs gzip"
    for i in $(seq 2000); do echo "{\"id\": $i, \"text\": \"apple number $((i * 7919 % 2003))\"}"; done >many.jsonl
    gzip -c many.jsonl >many.gz
    head -c $(($(wc -c <many.gz) / 2)) many.gz >cut.gz
    ends_with 0 quern build cut.gz -o store --max-errors 5
    [[ $stderr == *"cut.gz"* ]]
    documents=$(json store/stats.json "d['counts']['documents']")
    [ "$documents" -gt 500 ] && [ "$documents" -lt 1500 ]
}
