#!/usr/bin/env bats
# shellcheck disable=SC2016,SC2154 # bash -c expands its own text; common and bats set $data, $stderr
# quern dedup: what it writes, where, and what it refuses.
load common

own_setup() {
    cat >corpus.jsonl <<'END'
{"id":"a","text":"The mill stands by the river, and its wheel turns day and night, grinding the corn of nine villages."}
{"id":"b",  "text":"Bread is flour, water, salt and time.", "more":1}
{"id":"c","text":"The mill stood by the river, and its wheel turns day and night, grinding the corn of nine villages."}
{"id":"d","text":"Bread is flour, water, salt and time!"}
{"id":"e","text":"Something else entirely"}
END
}

refused() { # refused TEXT ARGUMENT...
    local text=$1
    shift
    ends_with 2 quern "$@"
    says "$text"
}

dedup() { quern dedup --quiet "$@"; }

@test "pairs: each once, the earlier document first, in the order of the corpus" {
    dedup corpus.jsonl >rows
    [ "$(cut -f 1-3 rows)" = $'a\tc\t3\nb\td\t1' ]
    [ "$(awk '{ printf "%.4f ", $4 }' rows)" = "0.0151 0.0135 " ]
    dedup corpus.jsonl --format jsonl | head -n 1 | grep -q '^{"id_a":"a","id_b":"c","distance":3,"rate":0.01'
    dedup corpus.jsonl --format table | head -n 1 | grep -q '^id_a *id_b *distance *rate$'
    dedup corpus.jsonl --pairs - | cmp - rows
}

@test "groups and kept documents, by every policy" {
    dedup corpus.jsonl --groups groups.tsv -o kept.jsonl
    printf '0\ta\t1\n0\tc\t0\n1\tb\t1\n1\td\t0\n' | diff - groups.tsv
    sed -n '1,2p;5p' corpus.jsonl | diff - kept.jsonl
    dedup corpus.jsonl --keep last -o - | diff <(sed -n '3,5p' corpus.jsonl) -
    dedup corpus.jsonl --keep shortest -o - | diff <(sed -n '2,3p;5p' corpus.jsonl) -
    # What is kept has no pair.
    [ -z "$(dedup kept.jsonl)" ]
}

@test "with a file for one result, nothing else goes to standard output" {
    [ -z "$(dedup corpus.jsonl --groups groups.tsv)" ]
    [ -n "$(dedup corpus.jsonl --report page.html)" ]
}

@test "TSV comes out byte for byte, other forms as JSON lines" {
    printf 'x\tsome text that is long enough for it\r\ny\tsome text that is long enough for is\nz\t' >c.tsv
    dedup c.tsv -o - | cmp - <(printf 'x\tsome text that is long enough for it\r\nz\t\n')
    dedup "$data/garden" -o garden.jsonl
    grep -q '^{"id":"notes/bees.html","title":"Bees & hives","text":' garden.jsonl
    dedup garden.jsonl -o again.jsonl
    cmp garden.jsonl again.jsonl
}

@test "no near-duplicates: no rows, and 0" {
    head -n 2 corpus.jsonl >unlike.jsonl
    ends_with 0 quern dedup unlike.jsonl
    [ -z "$output" ]
    dedup unlike.jsonl -o - | cmp - unlike.jsonl
}

@test "the same for every thread count and memory budget" {
    endless_corpus | head -n 3000 >many.jsonl
    dedup many.jsonl --threshold 0.1 --groups once --threads 1
    dedup many.jsonl --threshold 0.1 --groups again --threads 3 --memory 64M
    [ -s once ]
    cmp once again
}

@test "every method runs" {
    for method in exhaustive signature shared-memory global-memory; do
        dedup corpus.jsonl --method $method | cut -f 1-3 | diff <(printf 'a\tc\t3\nb\td\t1\n') -
    done
    [ "$(dedup corpus.jsonl --method shingle --shingle 2 --similarity 0.8 | cut -f 1,2)" = $'a\tc\nb\td' ]
    [ "$(dedup corpus.jsonl --method simhash | cut -f 1-3)" = $'b\td\t0' ]
    # Words of medium frequency: those that two of the four have.
    for i in 1 2 3 4; do printf '{"id":"%d","text":"all x%d y%d z%d %s"}\n' $i $i $i $i "$([ $i -gt 2 ] && echo both have three)"; done >words.jsonl
    [ "$(dedup words.jsonl --method i-match | cut -f 1-4)" = $'3\t4\t0\t0' ]
    dedup corpus.jsonl --unit char | cut -f 3 | diff <(printf '3\n1\n') -
}

@test "simhash: the same pairs in any order of documents" {
    endless_corpus | head -n 300 >many.jsonl
    tac many.jsonl >turned.jsonl
    pairs() { dedup "$1" --method simhash --hamming 12 | awk -F'\t' '{ print ($1 < $2 ? $1 " " $2 : $2 " " $1), $3 }' | sort; }
    [ -n "$(pairs many.jsonl)" ]
    diff <(pairs many.jsonl) <(pairs turned.jsonl)
}

@test "a report is one page that fetches nothing" {
    dedup corpus.jsonl --report page.html >/dev/null
    grep -q '<del>stands</del>' page.html
    grep -q '<ins>stood</ins>' page.html
    run ! grep -qE '<script|https?:|src=|@import' page.html
    refused "page.html exists; --force" dedup corpus.jsonl --report page.html
    dedup corpus.jsonl --report page.html --force >/dev/null
}

@test "a store: only the new part is compared and written, and nothing twice" {
    head -n 2 corpus.jsonl >monday.jsonl
    tail -n 3 corpus.jsonl >tuesday.jsonl
    dedup monday.jsonl --store seen -o - | cmp - monday.jsonl
    dedup tuesday.jsonl --store seen --pairs pairs.tsv -o new.jsonl
    cut -f 1-3 pairs.tsv | diff <(printf 'a\tc\t3\nb\td\t1\n') -
    tail -n 1 corpus.jsonl | cmp - new.jsonl
    dedup tuesday.jsonl --store seen --pairs again.tsv -o - | cmp - new.jsonl
    cmp pairs.tsv again.tsv
    refused "threshold 0.05, and is asked with 0.1" dedup tuesday.jsonl --store seen --threshold 0.1
    refused "lies within seen" dedup tuesday.jsonl --store seen -o seen/out
    [ -z "$(compgen -G '.seen*')" ]
}

@test "info and verify know a store" {
    dedup corpus.jsonl --store seen --threshold 0.1 >/dev/null
    quern info seen | head -n 9 | diff - <(printf '%s\t%s\n' kind duplicates format_version 2 method edit-rate threshold 0.1 unit byte documents 5 text_bytes 296 pairs 2 shards 1)
    quern verify seen --quiet | grep -q $'^seen\twhole\t[0-9]'
    refused "lies within the store" build corpus.jsonl -o x --stats seen/000000.stats.json
    printf 'X' | dd of=seen/000000.pairs.section bs=1 seek=3 conv=notrunc status=none
    ends_with 5 quern verify seen
    says "000000.pairs"
}

@test "a damaged store: 5, and the section named" {
    dedup corpus.jsonl --store seen >/dev/null
    printf 'X' | dd of=seen/000000.texts.section bs=1 seek=20 conv=notrunc status=none
    ends_with 5 quern dedup corpus.jsonl --store seen
    says "000000.texts"
}

@test "against a corpus, a store, and a store of build" {
    head -n 2 corpus.jsonl >old.jsonl
    tail -n 3 corpus.jsonl >new.jsonl
    dedup old.jsonl --store seen >/dev/null
    build old.jsonl built
    for old in old.jsonl seen built; do
        dedup new.jsonl --against $old -o - | cmp - <(tail -n 1 corpus.jsonl)
    done
    refused "exclude each other" dedup new.jsonl --against old.jsonl --store seen
    refused "no/such: no such" dedup new.jsonl --against no/such
    refused "as --against" dedup built
}

@test "against a set with the same ids" {
    head -n 2 corpus.jsonl >old.jsonl
    printf '{"id":"a","text":"Bread is flour, water, salt and time?"}\n{"id":"b","text":"nothing of the kind"}\n' >new.jsonl
    dedup new.jsonl --against old.jsonl --groups - -o kept | diff <(printf '0\tb\t1\n0\ta\t0\n') -
    tail -n 1 new.jsonl | cmp - kept
    dedup --stream --against old.jsonl <new.jsonl | cut -f 1-4 | diff <(printf 'a\t1\tb\t1\nb\t0\t\t\n') -
    # Within the corpus an id is still one document's.
    { cat new.jsonl new.jsonl; } >twice.jsonl
    ends_with 3 quern dedup twice.jsonl --against old.jsonl
    says 'twice.jsonl:3: the id "a" is repeated'
}

@test "a stream answers each line as it comes" {
    mkfifo questions answers
    "$QUERN" dedup --stream --quiet <questions >answers 3>&- &
    exec 8>questions 9<answers
    local expected=$'a 0 b 0 c 1 d 1 e 0' got=""
    while IFS= read -r line; do
        printf '%s\n' "$line" >&8
        IFS=$'\t' read -r -t 10 id count _ <&9
        got+="$id $count "
    done <corpus.jsonl
    exec 8>&- 9<&-
    wait $!
    [ "$got" = "$expected " ]
}

@test "a stream: all pairs in a file, memory told, lines that are no documents answered" {
    { cat corpus.jsonl; echo nonsense; } | quern dedup --stream --max-errors 1 --pairs pairs.tsv --stats stats.json >rows 2>said
    [ "$(wc -l <rows)" -eq 6 ]
    sed -n 3p rows | grep -q $'^c\t1\ta\t3\t0.01'
    sed -n 6p rows | grep -q $'^\t\t\t\t$'
    grep -q 'warning: -:6: malformed JSON' said
    cut -f 1-3 pairs.tsv | diff <(printf 'a\tc\t3\nb\td\t1\n') -
    grep -q 'in memory for them' said
    [ "$(json stats.json "d['counts']['memory_bytes'] > 0")" = True ]
    quern dedup --stream --quiet --format jsonl <corpus.jsonl | sed -n 1p | grep -qx '{"id":"a","duplicates":0,"nearest":null,"distance":null,"rate":null}'
    ends_with 3 bash -c 'echo nonsense | "$QUERN" dedup --stream'
    refused "reads standard input" dedup corpus.jsonl --stream
    refused "need all of them" dedup --stream -o kept
    refused "compares words" dedup --stream --method shingle
    refused "no other form" dedup --stream --input-format tsv
    refused "needs all rows" dedup --stream --format table
    printf '\xEF\xBB\xBF' | cat - corpus.jsonl | quern dedup --stream --quiet | head -n 1 | grep -q $'^a\t0'
}

@test "a stream with a store adds to it" {
    head -n 2 corpus.jsonl | quern dedup --stream --quiet --store seen >/dev/null
    tail -n 3 corpus.jsonl | quern dedup --stream --quiet --store seen | cut -f 1,3 | diff <(printf 'c\ta\nd\tb\ne\t\n') -
    dedup corpus.jsonl --store seen | cut -f 1-3 | diff <(printf 'a\tc\t3\nb\td\t1\n') -
}

@test "Ctrl-C in the middle leaves no file, and a store that goes on" {
    mkdir out scratch
    mkfifo pipe
    endless_corpus >pipe 2>/dev/null &
    local writer=$!
    "$QUERN" dedup - -o out/kept --groups out/groups --store out/seen --tmp scratch --quiet <pipe 2>said &
    local program=$! status=0
    sleep 1
    kill -INT "$program"
    wait "$program" || status=$?
    kill "$writer" 2>/dev/null || true
    [ "$status" -eq 130 ]
    grep -q "interrupted" said
    nothing_left scratch
    rm -rf out/seen
    nothing_left out
}

@test "refusals: values, outputs over inputs, two results in one place" {
    refused "above 0" dedup corpus.jsonl --threshold 0.6
    refused "decimal" dedup corpus.jsonl --threshold -1
    refused "is none of auto" dedup corpus.jsonl --method minhash
    refused "from 1 to 1000" dedup corpus.jsonl --signature-length 0
    refused "whole number" dedup corpus.jsonl --cut x
    refused "similarity" dedup corpus.jsonl --similarity 1.1
    refused "is an input" dedup corpus.jsonl -o corpus.jsonl --force
    refused "is an input" dedup corpus.jsonl --report ./corpus.jsonl --force
    refused "both go to ./out" dedup corpus.jsonl --pairs out --groups ./out
    refused "both go to standard output" dedup corpus.jsonl --pairs - --groups -
    refused "--report needs" dedup corpus.jsonl --report -
    refused "CORPUS is required" dedup
    refused "cpu only" dedup corpus.jsonl --method simhash --device cuda
    refused "cannot be asked piece by piece" dedup corpus.jsonl --method i-match --store seen
    refused "both go to" dedup corpus.jsonl --stats out -o out
    refused "can be read once" dedup - -
    refused "can be read once" dedup - --against -
    refused "can be read once" dedup --stream --against -
    refused "--store: the name is empty" dedup corpus.jsonl --store ""
    touch there
    refused "there exists; --force" dedup corpus.jsonl -o there
    [ ! -e seen ] && [ ! -e out ]
}

@test "3: bad input beyond --max-errors, and no result" {
    echo '{"id":"a","text":"again"}' >>corpus.jsonl
    ends_with 3 quern dedup corpus.jsonl -o kept --store seen
    says 'corpus.jsonl:6: the id "a" is repeated'
    [ ! -e kept ] && [ ! -e seen ]
    dedup corpus.jsonl --max-errors 1 -o kept
    [ -e kept ]
}

@test "--stats records stages, counts and the device" {
    dedup corpus.jsonl --stats stats.json >/dev/null
    [ "$(json stats.json "[s['name'] for s in d['stages']]")" = "['read', 'compare', 'groups', 'write']" ]
    [ "$(json stats.json "d['counts']['pairs'], d['counts']['groups'], d['counts']['dropped'], d['counts']['documents']")" = "(2, 2, 2, 5)" ]
    [ "$(json stats.json "d['device'] in ('cpu', 'cuda:0')")" = True ]
}
