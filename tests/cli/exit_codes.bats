#!/usr/bin/env bats
# shellcheck disable=SC2016,SC2059,SC2154 # bash -c expands its own text; common and bats set $data, $stderr
# Every row of the table of exit codes, and the one line that says why.
load common

own_setup() { build "$data/corpus.jsonl" store; }

@test "0: done" { ends_with 0 quern search store apple; }

@test "1: no document contains the words, which are reported" {
    ends_with 1 quern search store zebra apfel
    [ -z "$output" ]
    says "no document contains"
    [[ $stderr == *apfel* && $stderr == *zebra* ]]
}

@test "1: the query contains no word" {
    ends_with 1 quern search store "..."
    says "contains no word"
}

@test "1: no topic has a result" {
    printf '1\tzebra\n' >topics
    ends_with 1 quern search store --topics topics --run out.run
    [ -f out.run ] && [ ! -s out.run ]
}

@test "1: judgements and run share no topic" {
    printf '9 Q0 a1 1 1.0 x\n' >other.run
    ends_with 1 quern evaluate "$data/qrels.txt" other.run
}

@test "an unknown word among known ones is a note, not a failure" {
    ends_with 0 quern search store apple zebra
    says "no document contains zebra"
}

@test "2: no command: the help page, on standard error" {
    ends_with 2 quern
    [ -z "$output" ]
    [[ $stderr == *"Usage: quern COMMAND"* ]]
}

@test "2: an unknown command, with the nearest one" {
    refused "unknown command 'serch'; did you mean search?" serch
    refused "unknown command 'bulid'; did you mean build?" bulid x
    refused "unknown command 'frobnicate'; quern --help" frobnicate
    refused "unknown option '--versoin'" --versoin
}

@test "2: an unknown option, with the nearest one" {
    refused "unknown option --thread; did you mean --threads?" build x -o y --thread 2
    refused "unknown option -z; put words that begin with a dash after --" search store -z
}

@test "2: invalid values" {
    refused "--threads: invalid value '0' (expected all or a whole number from 1 to 4096)" build x -o y --threads 0
    refused "--threads: invalid value '2x' (expected all or a whole number" build x -o y --threads 2x
    refused "--memory: invalid size '1Q'" build x -o y --memory 1Q
    refused "--memory: invalid size '-1G'" build x -o y --memory=-1G
    refused "--format: invalid value 'csv' (expected one of tsv, jsonl, table)" search store apple --format csv
    refused "--progress: invalid value 'often' (expected one of" search store apple --progress often
    refused "--device: invalid device 'tpu' (expected" search store apple --device tpu
    refused "--device: invalid device 'cuda:x' (expected" search store apple --device cuda:x
    refused "--model: invalid value 'tfidf' (expected one of" search store apple --model tfidf
    refused "--k1: invalid value 'high' (expected a number from 0 to 2^64)" search store apple --k1 high
    refused "--max-errors: invalid value '101%' (expected" build x -o y --max-errors 101%
    refused "--max-errors: invalid value '-3' (expected" build x -o y --max-errors=-3
    refused "--input-format: invalid value 'pdf' (expected one of" build x -o y --input-format pdf
    refused "--tokens: invalid value 'words' (expected one of" build x -o y --tokens words
    refused "--stem: invalid value 'snowball' (expected one of" build x -o y --stem snowball
    refused "--tmp: /no/such is not a folder" build x -o y --tmp /no/such
    refused "-k: invalid value '0' (expected all or a whole number of at least 1)" search store apple -k 0
}

@test "2: parameters out of range" {
    for option in --k1=-1 --b=1.5; do ends_with 2 quern search store apple "$option"; done
    ends_with 2 quern search store apple --model ql --lambda 0
    ends_with 2 quern search store apple --model dirichlet --mu 0
    ends_with 2 quern search store apple --k1 nan
    # Whatever the model, and before a corpus is read.
    refused "--lambda: invalid value '7' (expected a number above 0, below 1)" search store apple --lambda 7
    refused "--b: invalid value '2' (expected a number from 0 to 1)" search store apple --model ql --b 2
    refused "--mu: invalid value '0' (expected a number from 2^-64 to 2^64)" search "$data/corpus.jsonl" apple --mu 0
    [ ! -e "$QUERN_CACHE" ]
}

@test "2: missing required options" {
    refused "CORPUS" build -o y
    refused "--output is required" build "$data/corpus.jsonl"
    refused "STORE" search
    refused "RUN" evaluate "$data/qrels.txt"
}

@test "2: an unexpected argument" { refused "unexpected argument" info store store; }

@test "2: options that cannot be combined" {
    refused "--run requires --topics" search store apple --run out.run
    refused "cannot be combined with" search store apple --topics "$data/topics.tsv"
    refused "same file" search store --topics "$data/topics.tsv" --run a -o b
}

@test "2: missing inputs" {
    refused "no/such: no such" build no/such -o y
    refused "no/such: no such" search no/such apple
    refused "no/such" search store --topics no/such
    refused "no/such" evaluate no/such "$data/qrels.txt"
    refused "no/such" evaluate "$data/qrels.txt" no/such
    refused "no/such" info no/such
    refused "no/such" verify no/such
    refused "no/such" build "$data/corpus.jsonl" -o y --stop-words no/such
    refused "no/such" build "$data/corpus.jsonl" -o y --config no/such
    [ ! -e y ]
}

@test "2: a folder that is not a store" {
    mkdir empty
    refused "not a store" info empty
    refused "not a store" verify empty
}

@test "2: an output of quern is not a corpus" {
    quern build "$data/corpus.jsonl" -o made --quiet
    quern dedup "$data/corpus.jsonl" --store seen --quiet
    quern words "$data/corpus.jsonl" -o space --min-count 1 --quiet
    quern dictionary "$data/corpus.jsonl" -o words --quiet
    for what in made seen space words; do
        for command in "build $what -o new" "ngrams $what" "signature $what" "dictionary $what -o new"; do
            # shellcheck disable=SC2086 # a command and its arguments
            refused "$what was made by quern and is not a corpus" $command
        done
    done
    for what in seen space words; do
        refused "$what was made by quern and is not a corpus" words $what -o new
        refused "$what was made by quern and is not a corpus" search $what apple
    done
    for what in space words; do
        refused "$what was made by quern and is not a corpus" dedup $what
        refused "$what was made by quern and is not a corpus" dedup "$data/corpus.jsonl" --against $what
    done
    [ ! -e new ]
    mkdir mine # a folder of one's own
    echo '{"id": "1", "text": "an apple"}' >mine/store.json
    echo 'an apple' >mine/notes.txt
    ends_with 0 quern build mine -o new
}

@test "2: an existing store is not overwritten without --force" {
    cp -r store before
    refused "store exists; --force replaces it" build "$data/corpus.tsv" -o store
    diff -r before store
    ends_with 0 quern build "$data/corpus.tsv" -o store --force
    [ "$(quern info store | awk '$1 == "documents" { print $2 }')" -eq 3 ]
}

@test "2: a folder that is not a store is not overwritten, even with --force" {
    mkdir precious && echo x >precious/file
    refused "precious" build "$data/corpus.tsv" -o precious --force
    [ "$(cat precious/file)" = x ]
}

@test "2: an existing result file is not overwritten without --force" {
    echo precious >out.tsv
    refused "out.tsv exists; --force replaces it" search store apple -o out.tsv
    [ "$(cat out.tsv)" = precious ]
    ends_with 0 quern search store apple -o out.tsv --force
    [ "$(wc -l <out.tsv)" -eq 3 ]
}

@test "2: an output equal to an input, by any name" {
    cp "$data/corpus.jsonl" in.jsonl
    ends_with 2 quern build in.jsonl -o in.jsonl --force
    cp "$data/topics.tsv" topics.tsv
    ln topics.tsv other-name
    refused "is an input" search store --topics topics.tsv --run other-name --force
    cp "$data/qrels.txt" qrels.txt
    printf '1 Q0 a1 1 1.0 x\n' >a.run
    refused "is an input" evaluate qrels.txt a.run -o ./a.run --force
    cmp qrels.txt "$data/qrels.txt"
    cmp in.jsonl "$data/corpus.jsonl"
}

@test "an output may have the name of a list of stop words" {
    printf 'der\nfor\n' >own
    for command in "build $data/corpus.jsonl" "words $data/corpus.jsonl --min-count 1" "dedup $data/corpus.jsonl --method shingle" \
        "search store apple"; do
        # shellcheck disable=SC2086 # a command and its arguments
        set -- $command --quiet
        ends_with 0 quern "$@" --stop-words none -o none
        ends_with 0 quern "$@" --stop-words none -o none --force # a file of that name is no list either
        rm -r none
        ends_with 2 quern "$@" --stop-words own -o own --force
        says "own is an input"
        [ "$(wc -l <own)" -eq 2 ]
    done
    ends_with 0 quern build "$data/corpus.jsonl" --stop-words de -o de
}

# kept FILE COMMAND...: the command is refused and the file is what it was, with --force too.
kept() {
    local file=$1
    shift
    cp "$file" kept-before
    ends_with 2 quern "$@"
    ends_with 2 quern "$@" --force
    cmp "$file" kept-before
}

@test "2: a record of the run over any input or output of the run" {
    cp "$data/corpus.jsonl" in.jsonl
    cp "$data/topics.tsv" topics.tsv
    cp "$data/qrels.txt" qrels.txt
    printf '1 Q0 a1 1 1.0 x\n' >a.run
    printf 'the\n' >stop
    printf 'threads = 1\n' >quern.toml
    cp -r "$data/garden" garden
    ln -s garden/spring.txt link
    kept in.jsonl build in.jsonl -o new --stats ./in.jsonl
    kept stop build in.jsonl -o new --stop-words stop --stats stop
    kept quern.toml build in.jsonl -o new --config quern.toml --stats quern.toml
    kept garden/spring.txt build garden -o new --stats garden/spring.txt
    kept garden/spring.txt build garden -o new --stats link
    kept topics.tsv search store --topics topics.tsv --stats topics.tsv
    kept store/ids.section search store apple --stats store/ids.section
    kept qrels.txt evaluate qrels.txt a.run --stats qrels.txt
    kept a.run evaluate qrels.txt a.run --stats a.run
    refused "is inside the input new" build in.jsonl -o new --stats new/record.json
    refused "both go to" build in.jsonl -o new --stats new
    refused "both go to ./o.tsv" search store apple -o o.tsv --stats ./o.tsv
    refused "is a folder" search store apple --stats garden
    [ ! -e new ]
    [ ! -e o.tsv ]
    ends_with 0 quern search store apple -o /dev/null --stats /dev/null
}

@test "2: a record of the run replaces records only, without --force" {
    echo precious >file
    refused "is not a record of a run" search store apple --stats file
    [ "$(cat file)" = precious ]
    ends_with 0 quern search store apple --stats file --force
    ends_with 0 quern search store pear --stats file
    [ "$(json file "d['counts']['hits']")" -eq 1 ]
    : >empty # as mktemp leaves it
    ends_with 0 quern search store apple --stats empty
    [ "$(json empty "d['counts']['hits']")" -eq 3 ]
}

@test "2: an output inside an input folder or a store" {
    cp -r "$data/garden" garden
    kept garden/spring.txt search garden bees -o garden/spring.txt
    kept store/ids.section search store apple -o store/ids.section
    kept store/store.json info store -o store/store.json
    kept store/stats.json evaluate "$data/qrels.txt" "$data/topics.tsv" -o store/stats.json
    refused "is inside the input garden" search garden bees -o garden/notes/new
    refused "is inside the input store" verify store -o store/new
    refused "is inside the" build garden -o garden/notes/new
    [ ! -e garden/notes/new ]
    [ ! -e store/new ]
    mkdir garden/.hidden # is not read with the folder
    ends_with 0 quern build garden -o garden/.hidden/store
    quern build garden -o beside
    diff -r -x stats.json beside garden/.hidden/store
    refused "is inside the" search garden/.hidden/store apple -o garden/.hidden/store/new
    quern verify store
}

@test "2: a store on standard output" {
    refused "cannot go to standard output" build "$data/corpus.jsonl" -o -
    [ ! -e - ]
}

@test "2: a store inside its corpus" {
    cp -r "$data/garden" garden
    ends_with 2 quern build garden -o garden/store
    [ ! -e garden/store ]
}

@test "2: a device that the operation does not support" {
    refused "search without --topics runs on cpu only" search store apple --device cuda:0
    refused "evaluate runs on cpu only" evaluate a b --device cuda:all
}

@test "2: other text options than the store's" {
    refused "other text options" search store apple --stem porter
    refused "other text options" search store apple --tokens ascii
    ends_with 0 quern search store apple --tokens unicode
}

@test "2: standard input as a corpus to search" { ends_with 2 quern search - apple; }

@test "3: bad input beyond --max-errors, with file, line and reason" {
    { cat "$data/corpus.jsonl"; echo '{"id": "x", "text": '; echo 'no json'; } >bad.jsonl
    ends_with 3 quern build bad.jsonl -o new
    says "bad.jsonl:7: "
    [ ! -e new ]
    ends_with 3 quern build bad.jsonl -o new --max-errors 1
    ends_with 0 quern build bad.jsonl -o new --max-errors 2
    ends_with 0 quern build bad.jsonl -o new --max-errors 25% --force
}

@test "3: an id that is repeated within a file, or a text that is missing" {
    printf '{"id":"a","text":"x"}\n{"id":"a","text":"y"}\n' >twice.jsonl
    ends_with 3 quern build twice.jsonl -o new
    says "twice.jsonl:2: "
    printf '{"id":"a","text":"x"}\n{"id":"b"}\n' >none.jsonl
    ends_with 3 quern build none.jsonl -o new
    says "none.jsonl:2: "
    [ ! -e new ]
}

@test "2: text options are checked before the corpus is read" {
    echo broken >broken.jsonl
    ends_with 2 quern build broken.jsonl -o new --input-format jsonl --language xx
    ends_with 2 quern build broken.jsonl -o new --input-format jsonl --stop-words ./no-such-list
    [ ! -e new ]
}

@test "3: no documents at all" {
    : >empty.jsonl
    ends_with 3 quern build empty.jsonl -o new --input-format jsonl
    [ ! -e new ]
}

@test "3: malformed judgements and runs, with file and line" {
    printf '1 0 a1 2\n1 0 oops\n' >qrels
    printf '1 Q0 a1 1 1.0 x\n' >run
    ends_with 3 quern evaluate qrels run
    says "qrels:2: "
    printf '1 Q0 a1 1 1.0 x\n1 Q0 b2 2 high x\n' >run
    ends_with 3 quern evaluate "$data/qrels.txt" run
    says "run:2: "
}

@test "3: ids that a TREC run cannot distinguish" {
    printf '{"id":"a_b","text":"apple"}\n{"id":"a b","text":"apple pie"}\n{"id":"c d","text":"pear"}\n' >blanks.jsonl
    build blanks.jsonl blanks
    printf 't\tapple\n' >topics
    ends_with 3 quern search blanks --topics topics --run out.run
    says "'a_b' and 'a b' look the same"
    [ ! -e out.run ]
    ends_with 0 quern search blanks --topics topics --format tsv
    printf 't\tpear\n' >topics # a blank alone is no clash
    [[ $(quern search blanks --topics topics) == "t Q0 c_d 1 "* ]]
}

@test "129: a hang-up" {
    mkfifo pipe
    sleep 3600 >pipe 3>&- &
    local writer=$!
    "$QUERN" build - -o new --skip all <pipe 2>/dev/null 3>&- &
    local program=$! status=0
    at_work "$program"
    kill -HUP "$program"
    wait "$program" || status=$?
    kill "$writer"
    [ "$status" -eq 129 ]
}

@test "4: the disk cannot store the results" {
    [ -e /dev/full ] || skip "needs /dev/full"
    run --separate-stderr bash -c '"$QUERN" search store apple --quiet >/dev/full'
    [ "$status" -eq 4 ]
    says "No space left on device"
    mkdir locked && chmod a-w locked
    if touch locked/probe 2>/dev/null; then skip "root writes everywhere"; fi
    ends_with 4 quern search store apple -o locked/out
}

@test "4: a file larger than allowed, and nothing half-written" {
    endless_corpus | head -n 40000 >large.jsonl
    mkdir out
    run --separate-stderr bash -c 'ulimit -f 64; "$QUERN" build large.jsonl -o out/new' --skip all
    [ "$status" -eq 4 ]
    says "File too large"
    nothing_left out
}

@test "4: more memory than the budget" {
    endless_corpus | head -n 20000 >large.jsonl
    mkdir out
    ends_with 4 quern build large.jsonl -o out/new --skip all --memory 200K
    says "memory"
    nothing_left out
}

@test "5: a store of another version" {
    sed -i 's/"version": [0-9]*/"version": 99/' store/store.json
    ends_with 5 quern search store apple
    says "version 99"
    ends_with 5 quern info store
}

@test "every exit code is in the table of the help pages" {
    local table
    table=$(quern --help | sed -n '/^Exit codes:/,$p')
    for code in 0 1 2 3 4 5 70 129 130 143; do grep -qE "^ *([0-9]+ )*$code( [0-9]+)* " <<<"$table" || { echo "$code"; return 1; }; done
}

@test "help goes to standard output, for the program and each command" {
    ends_with 0 quern --help
    for name in build search dedup signature evaluate info verify doctor; do
        [[ $output == *"  $name "* ]]
        help=$(quern "$name" --help)
        [ "$(wc -L <<<"$(quern "$name" --help-all)")" -le 80 ]
        [ "$help" = "$(quern help "$name")" ]
        [[ $help == "quern $name - "*"Usage: quern $name "*"Examples:"*"Exit codes:"* ]]
        [ "$(wc -L <<<"$help")" -le 80 ]
    done
    [[ $(quern --version) == "quern "[0-9]*.[0-9]*.[0-9]* ]]
}
