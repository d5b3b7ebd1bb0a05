#!/usr/bin/env bats
# shellcheck disable=SC2016,SC2030,SC2031,SC2059,SC2154 # bash -c expands its own text; common and bats set $data, $stderr
# Every form of corpus, plain, compressed and from a pipe: what is read, and what is said of the rest.
load common

# built NAME CORPUS OPTION...: builds, and compares both the remarks and the documents with golden files.
built() {
    local name=$1 corpus=$2
    shift 2
    quern build "$corpus" -o store --skip all "$@" 2>said
    sed "s#$data/##g" said >said.short
    matches_golden "corpus.$name.said" said.short
    # The whole collection, in its order: a query of words that every document holds one of.
    quern search store apple bee bees tree pear りんご 蜜蜂 bienen -k all --quiet >rows
    matches_golden "corpus.$name.tsv" rows
}

@test "JSON lines" { built jsonl "$data/corpus.jsonl"; }
@test "TSV" { built tsv "$data/corpus.tsv"; }
@test "word lines, never guessed" { built lines "$data/corpus.lines" --input-format lines; }

# read_as CORPUS STATS: builds `store`, or skips while this form is only planned.
read_as() {
    run --separate-stderr quern build "$1" -o store --skip all --stats "$2"
    [[ $stderr != *"is not read yet"* ]] || skip "this form is not read yet"
    [ "$status" -eq 0 ]
    said=$stderr
}

documents() { # documents QUERY: ids and titles of all hits, in order of id
    quern search store "$1" -k all --quiet | cut -f 2,4 | LC_ALL=C sort
}

silent_about() { # silent_about WORD...: none of them is in the collection
    for word in "$@"; do
        run --separate-stderr quern search store "$word" --quiet
        echo "$word: $output"
        [ "$status" -eq 1 ]
    done
}

@test "a folder: HTML without its markup, hidden and binary files counted" {
    read_as "$data/garden" stats.json
    documents "apple bees Bienen" >rows
    grep -q $'^notes/bees.html\tBees & hives$' rows || skip "HTML is not read yet"
    [ "$(cut -f 1 rows | tr '\n' ' ')" = "autumn.md notes/bees.html notes/count.py notes/winter.txt spring.txt " ]
    silent_about secret never script doctype nbsp
    [ "$(quern search store "honey harvested" -k 1 --quiet | cut -f 2)" = notes/bees.html ]
    [[ $said == *"skipped by rule:"*"1 binary file"*"1 hidden file"* ]]
    [ "$(json stats.json "d['counts']['documents']")" -eq 5 ]
}

@test "a folder of what is no document: why, by extension; the form folder reads it" {
    mkdir man
    for page in a b; do echo ".TH $page" >"man/$page.1"; done
    echo "a,b" >man/table.csv
    printf '{\n  "name": "x"\n}\n' >man/package.json
    ends_with 3 quern build man -o store
    [[ $stderr == *"man: holds no documents; skipped by rule: 4 files of another kind (2 .1, 1 .csv, 1 .json); --input-format folder reads"* ]]
    ln -s /nope man/link
    echo "honey" >man/README
    ends_with 0 quern build man -o store --skip all
    [[ $stderr == *"skipped by rule: 4 files of another kind (2 .1, 1 .csv, 1 .json), 1 link that leads nowhere"* ]]
    ends_with 0 quern build man -o store --skip all --input-format folder --force
    [ "$(json store/stats.json "d['counts']['documents']")" -eq 5 ]
}

@test "TREC SGML: DOCNO without the spaces around it" {
    read_as "$data/corpus.trec" stats.json
    [ "$(documents "apple bees" | cut -f 1 | tr '\n' ' ')" = "TR-1 TR-2 " ]
    silent_about docno text
}

@test "wikiextractor output: its ids and titles, entities read" {
    read_as "$data/corpus.wikiextractor" stats.json
    [ "$(documents "apple bees")" = $'12\tApple tree\n25\tBee' ]
    silent_about amp curid doc
}

@test "a Wikipedia dump: prose alone, namespaces skipped, redirects resolved" {
    read_as "$data/wiki.xml" stats.json
    [ "$(documents "bee apple")" = $'Apple_tree\tApple tree\nBee\tBee' ]
    silent_about infobox nested book cell wikitable picture jpg hidden ref category article
    # Apple tree -> Bee twice, once through the redirect; Bee -> Apple tree; "spring" is not here.
    [ "$(json stats.json "[d['counts'][k] for k in ('documents', 'redirects', 'links', 'dangling_links', 'rejected')]")" = \
        "[2, 1, 3, 1, 0]" ]
    [[ $said == *"skipped by rule:"*namespace* ]]
}

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
    "$1" -c "$data/corpus.jsonl" | quern build - -o piped --skip all --quiet
    same_store plain piped
}

@test "gzip" { compressed gzip gz; }
@test "bzip2" { compressed bzip2 bz2; }
@test "zstd" { compressed zstd zst; }
@test "xz" { compressed xz xz; }

@test "standard input is JSON lines" {
    build "$data/corpus.jsonl" plain
    quern build - -o piped --skip all --quiet <"$data/corpus.jsonl"
    same_store plain piped
}

@test "a text from a pipe is read once and whole" {
    quern build <(echo "honey from one pipe") -o piped --skip all --quiet
    quern search piped "honey pipe" --quiet | grep -q "honey from one pipe"
}

@test "several inputs are one collection, in the order given" {
    quern build "$data/corpus.jsonl" "$data/garden" -o store --skip all --quiet
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
    ends_with 0 quern build mixed.jsonl -o store --skip all --max-errors 12
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
    ends_with 0 quern build cut.gz -o store --skip all --max-errors 5
    [[ $stderr == *"cut.gz"* ]]
    documents=$(json store/stats.json "d['counts']['documents']")
    [ "$documents" -gt 500 ] && [ "$documents" -lt 1500 ]
}
