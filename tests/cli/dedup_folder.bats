#!/usr/bin/env bats
# shellcheck disable=SC2154 # common and bats set $data, $stderr
# quern dedup -o DIR/: one file for each file of the corpus.
load common

own_setup() {
    mkdir -p in/part
    cat >in/a.jsonl <<'END'
{"id":"a","text":"The mill stands by the river, and its wheel turns day and night, grinding the corn of nine villages."}
{"id":"b",  "text":"Bread is flour, water, salt and time.", "more":1}
END
    { sed 's/stands/stood/; s/"a"/"c"/' in/a.jsonl | head -n 1; printf '{"id":"e","text":"Something else entirely"}'; } |
        gzip -n >in/part/b.jsonl.gz
    printf 'id,text\n1,"Bread is flour, water, salt and time!"\n2,"A line of\nits own"\n' >in/part/c.csv
    printf 'x\tBread is flour, water, salt and time?\ny\tA row of TSV, not of anything else\r\n' | zstd -q >in/part/d.tsv.zst
    printf -- '---\ntitle: T\n---\n\nA page of *markdown*.\n' >in/part/page.md
    printf '<title>P</title><p>A page of *markdown*.</p>' >in/z.html
    printf 'The only document of its kind\n' | gzip -n >in/note.txt.gz
}

dedup() { quern dedup --quiet "$@"; }

@test "each file keeps its name, its form and its compression" {
    dedup in -o out/ --threshold 0.1
    diff <(cd out && find . -type f | LC_ALL=C sort) - <<'END'
./a.jsonl
./manifest.json
./note.txt.gz
./part/b.jsonl.gz
./part/c.csv
./part/d.tsv.zst
./part/page.md
END
    cmp in/a.jsonl out/a.jsonl
    cmp in/note.txt.gz out/note.txt.gz
    cmp in/part/page.md out/part/page.md
    gzip -dc out/part/b.jsonl.gz | diff <(echo '{"id":"e","text":"Something else entirely"}') -
    diff <(printf 'id,text\n2,"A line of\nits own"\n') out/part/c.csv
    zstd -qdc out/part/d.tsv.zst | cmp <(printf 'y\tA row of TSV, not of anything else\r\n') -
    # All of it is a corpus without duplicates, and what one file would have.
    [ -z "$(dedup out --threshold 0.1)" ]
    dedup in -o one.jsonl --threshold 0.1
    dedup out -o again.jsonl --threshold 0.1
    cmp one.jsonl again.jsonl
    nothing_but=$(find . -maxdepth 1 -name '.*' -type d ! -name .)
    [ -z "$nothing_but" ]
}

@test "the same for threads and memory, with a store, with groups, into an empty folder" {
    dedup in -o out/ --threshold 0.1 --groups groups.tsv
    dedup in -o out1/ --threshold 0.1 --threads 1 --memory 64M
    diff -r out out1
    mkdir out2
    dedup in -o out2/// --threshold 0.1 --store seen
    diff -r -x manifest.json out out2
    dedup in -o out3/ --threshold 0.1 --store seen # all known
    diff -r -x manifest.json out out3
    [ "$(grep -cP '^[0-9]+\t[^\t]*\t0\t' groups.tsv)" -eq 4 ]
}

@test "files given one by one; a file without a kept or readable document" {
    cp in/a.jsonl copy.jsonl
    : >empty.jsonl
    printf 'id,text\n9,Something else entirely\n' >d.csv
    dedup in/a.jsonl in/part/b.jsonl.gz copy.jsonl empty.jsonl d.csv -o out/ --ids scoped
    diff <(ls out) <(printf '%s\n' a.jsonl b.jsonl.gz copy.jsonl d.csv empty.jsonl manifest.json)
    [ ! -s out/copy.jsonl ]
    [ ! -s out/empty.jsonl ]
    [ "$(cat out/d.csv)" = id,text ]
    cmp in/a.jsonl out/a.jsonl
}

@test "a shard without documents in a folder has an output, so that all stages have the same files" {
    : >in/part/empty.jsonl
    gzip -nc </dev/null >in/part/none.jsonl.gz
    printf '\xef\xbb\xbfid,text\r\n' >in/part/h.csv
    printf 'id\ttext\n' >in/part/t.tsv
    echo '{"id":"r","label":1}' >in/part/labels.jsonl  # no shard: it is skipped
    for run in 'dedup --threshold 0.1' 'filter --rules length.min-words=1' 'decontaminate --against in/a.jsonl'; do
        # shellcheck disable=SC2086
        quern $run in -o out/ --quiet
        (cd out/part && ls) | diff - <(printf '%s\n' b.jsonl.gz c.csv d.tsv.zst empty.jsonl h.csv none.jsonl.gz page.md t.tsv)
        cmp out/part/empty.jsonl /dev/null
        gzip -dc out/part/none.jsonl.gz | cmp - /dev/null
        grep -q '"name": "part/none.jsonl.gz"' out/manifest.json
        quern dedup out -o again/ --quiet
        diff <(ls out/part) <(ls again/part)
        for table in h.csv t.tsv; do
            cmp in/part/$table out/part/$table
            cmp in/part/$table again/part/$table
        done
        rm -r out again
    done
    ends_with 0 quern dedup in -o out/
    says "skipped 1 file: 1 .jsonl"
}

@test "forms without lines become JSON lines" {
    mkdir forms
    printf '<DOC>\n<DOCNO>1</DOCNO>\n<TEXT>one text</TEXT>\n</DOC>\n' >forms/t.sgml
    printf '<doc id="7" url="u" title="T">\nT\n\nA text of wikiextractor\n</doc>\n' >forms/wiki_00
    bzip2 -c in/a.jsonl >forms/a.jsonl.bz2
    sed 's/one/another quite different/; s/>1</>2</' forms/t.sgml | gzip -n >forms/u.sgml.gz
    dedup forms -o out/
    diff <(ls out) <(printf '%s\n' a.jsonl manifest.json t.sgml.jsonl u.sgml.jsonl.gz wiki_00.jsonl)
    cmp out/a.jsonl in/a.jsonl
    grep -q '^{"id":"1","text":"one text' out/t.sgml.jsonl
    gzip -dc out/u.sgml.jsonl.gz | grep -q '^{"id":"2","text":"another quite'
    cp in/a.jsonl forms/
    refused "would both be written to a.jsonl" dedup forms -o another/
    [ ! -e another ]
}

@test "a folder of kept documents is the corpus of the next run; its list is none of them" {
    dedup in -o out/ --threshold 0.1
    quern dedup out -o again/ --threshold 0.1 2>said
    grep -q 'skipped 1 list of kept documents' said
    diff -r -x manifest.json out again
    dedup 'out/*.json*' -o of_pattern.jsonl --threshold 0.1
    cmp of_pattern.jsonl out/a.jsonl
    quern filter out --rules length.min-words=1 -o filtered/ --quiet
    diff -r -x manifest.json out filtered
    # A file of a user that has the same name is no list.
    mkdir own
    cp in/a.jsonl own/manifest.json
    refused "would both be written to manifest.json" dedup own -o other/
}

@test "files of bytes are copied" {
    mkdir -p bytes/sub
    printf 'a\0b\xff' >bytes/a.png
    cp bytes/a.png bytes/sub/same.png
    gzip -n <in/a.jsonl >bytes/sub/b.gz
    : >bytes/empty
    dedup --binary bytes -o out/
    diff <(cd out && find . -type f | sort) <(printf './%s\n' a.png empty manifest.json sub/b.gz)
    cmp bytes/a.png out/a.png
    cmp bytes/sub/b.gz out/sub/b.gz
    dedup --binary bytes/sub/same.png bytes/a.png -o two/
    [ "$(ls two | paste -sd ' ')" = "manifest.json same.png" ]
}

@test "folders that cannot be written are refused before the work" {
    mkdir full other && touch full/file && cp in/a.jsonl other/
    refused "full exists and is not empty" dedup in -o full/
    refused "full exists and is not empty" dedup in -o full/ --force
    refused "in/a.jsonl exists and is not a folder" dedup in/part -o in/a.jsonl/
    refused "would both be written to a.jsonl" dedup in other -o out/
    refused "would both be written to a.jsonl" dedup in/a.jsonl other/a.jsonl -o out/
    refused "is inside the input in" dedup in -o in/out/
    mkdir in/ready
    refused "is inside the input in" dedup in -o in/ready/
    refused "there is no folder missing" dedup in -o missing/out/
    refused "standard input has no file name" dedup - -o out/ <in/a.jsonl
    refused "neither a file nor a folder" dedup <(cat in/a.jsonl) -o out/
    refused "is inside the input out" dedup in -o out/ --pairs out/pairs.tsv
    refused "--groups, --output and --report cannot be combined with --stream" dedup --stream -o out/
    mkdir closed && chmod a-w closed
    [ "$(id -u)" -eq 0 ] || ends_with 4 quern dedup in -o closed/out/
    mkdir v2 && mkdir v2/a.jsonl && touch v2/a.jsonl/note.txt
    refused "would both be written to a.jsonl/note.txt" dedup in v2 -o out/
    [ ! -e out ]
    ls -A | grep -q quern- && return 1
    cmp in/a.jsonl other/a.jsonl
}

@test "a run that fails or is interrupted leaves nothing" {
    printf 'no JSON\n' >>in/a.jsonl
    ends_with 3 quern dedup in -o out/ --max-errors 0 --quiet
    [ ! -e out ]
    endless_corpus | head -n 300000 >in/long.jsonl
    "$QUERN" dedup in -o out/ --max-errors 100% 2>said &
    local process=$!
    at_work $process
    kill -TERM $process
    wait $process || [ $? -eq 143 ]
    [ ! -e out ]
    was_forced said || [ -z "$(find . -maxdepth 1 -name '.out.*')" ]
}

@test "names of a folder that end with dots" {
    mkdir here
    dedup in -o here/./ --threshold 0.1
    dedup in -o here/../there/ --threshold 0.1
    diff -r -x manifest.json here there
    rm -r here
    mkdir here
    cd here
    for name in ./ ../here/ "$PWD/"; do
        refused "$name is the current folder, which a new one would replace (expected another folder)" dedup ../in -o "$name"
    done
    [ -z "$(ls -A)" ]
}

@test "a folder without its slash is refused, with what is expected" {
    mkdir kept
    printf '{"id":1,"text":"one"}\n' >corpus.jsonl
    cp corpus.jsonl items.jsonl
    for command in dedup "dedup --level line" "filter --rules c4" "decontaminate --against items.jsonl"; do
        # shellcheck disable=SC2086 # words of the command
        refused "kept is a folder (expected a file; kept/, with a slash, has a file for each file of the corpus)" $command corpus.jsonl -o kept
    done
}
