#!/usr/bin/env bats
# shellcheck disable=SC2154 # common sets $data
# What the name of an output asks for: compression, a form, a folder; and that all of it is settled before the work.
load common

own_setup() {
    printf '{"id":"a","text":"red apples and red pears in a red basket","links":["b"]}\n{"id":"b","text":"a car on the road","links":["a"]}\n{"id":"c","text":"red apples and red pears in a red basket!"}\n' >corpus.jsonl
    printf 'a\tb\nb\tc\nc\ta\n' >graph.tsv
    printf 'x 1 0\ny 0 1\nz 1 1\n' >set.txt
    printf '1 Q0 a 1 2 x\n1 Q0 b 2 1 x\n' >a.run
    printf '1\tred\n' >topics
    build corpus.jsonl store
    quern words corpus.jsonl -o space --min-count 1 --vectors 2 --quiet
}

# same COMMAND... FILE: what the command writes to FILE.gz and FILE.zst is what it writes to FILE, and the same bytes for other
# threads.
same() {
    local file=${*: -1}
    "${@:1:$#-1}" "$file" --quiet
    for ending in gz zst; do
        "${@:1:$#-1}" "$file.$ending" --quiet
        "${@:1:$#-1}" "again.$file.$ending" --quiet --threads 3
        cmp "$file.$ending" "again.$file.$ending"
    done
    gzip -dc "$file.gz" | cmp - "$file"
    zstd -dcq "$file.zst" | cmp - "$file"
}

@test "a name in .gz or .zst is compressed, whatever is written" {
    command -v zstd >/dev/null || skip "needs zstd"
    same quern dedup corpus.jsonl --threshold 0.2 -o clean.jsonl
    same quern dedup corpus.jsonl --threshold 0.2 --pairs pairs.tsv
    same quern dedup corpus.jsonl --threshold 0.2 --groups groups.tsv
    same quern ngrams corpus.jsonl -o n.tsv
    same quern ngrams corpus.jsonl --totals t
    same quern ngrams corpus.jsonl --order 2 --arpa model
    same quern pagerank graph.tsv -o ranks.tsv
    same quern fuse a.run a.run -o f.run
    same quern search store --topics topics --run x.run
    same quern nearest set.txt --queries set.txt -o near.tsv
    same quern export space --words words.tsv
    same quern export space --vectors words.txt
    same quern export space --vectors words.npy
    same quern export space --graph words.graphml
    for what in ciff arpa graph documents; do same quern export store --$what store.$what; done
    quern words corpus.jsonl -o plain --min-count 1 --export alike.tsv --quiet
    quern words corpus.jsonl -o packed --min-count 1 --export alike.tsv.gz --report report.html.gz --quiet
    gzip -dc alike.tsv.gz | cmp - alike.tsv
    gzip -dc report.html.gz | grep -q '<html'
}

@test "what is not written is refused by its name, before the work" {
    mkdir out
    for name in c.bz2 c.xz c.tsv.zip c.npy c.ivecs c.graphml c.fbin.gz c.NPY; do
        for command in "dedup corpus.jsonl -o" "ngrams corpus.jsonl --totals" "pagerank graph.tsv -o" \
            "export store --arpa" "export store --graph" "export space --words" "search store red -o" \
            "nearest set.txt --queries set.txt -o" "dictionary corpus.jsonl -o"; do
            # shellcheck disable=SC2086 # words of the command
            ends_with 2 quern $command out/$name
            says "out/$name: "
        done
    done
    ends_with 2 quern dictionary corpus.jsonl -o out/words.gz
    ends_with 2 quern nearest set.txt --queries set.txt -o out/x.ibin.gz
    ends_with 2 quern export space --vectors out/x.npz
    nothing_left out
}

@test "a folder that is not there" {
    for command in "build corpus.jsonl -o" "words corpus.jsonl -o" "dictionary corpus.jsonl -o" "dedup corpus.jsonl -o" \
        "dedup corpus.jsonl --store" "pagerank graph.tsv -o" "export store --ciff" "pagerank graph.tsv --stats" \
        "ngrams corpus.jsonl --arpa" "search store red -o" "nearest set.txt --queries set.txt -o"; do
        # shellcheck disable=SC2086
        ends_with 2 quern $command nowhere/x
        says "there is no folder nowhere"
    done
    ends_with 2 quern nearest set.txt --queries set.txt -o nowhere/x.ibin
    says "there is no folder nowhere"
    ends_with 2 quern pagerank graph.tsv -o a.run/x
    says "a.run is no folder"
    [ ! -e nowhere ]
}

@test "a folder in the place of a file" {
    mkdir folder
    echo 1 0 a 1 >judged
    for command in "pagerank folder" "spmv folder" "evaluate folder a.run" "evaluate judged folder" "fuse folder" "topk folder"; do
        # shellcheck disable=SC2086
        ends_with 2 quern $command
        says "folder is a folder"
    done
}

@test "all outputs are looked at before one is written" {
    touch there.tsv
    ends_with 2 quern export store --arpa new.arpa --ciff new.ciff --documents there.tsv
    says "there.tsv exists; --force"
    ends_with 2 quern export store --arpa new.arpa --documents nowhere/x
    ends_with 2 quern export store --arpa new.arpa --documents x.bz2
    [ ! -e new.arpa ] && [ ! -e new.ciff ]
    ends_with 2 quern ngrams corpus.jsonl --totals new --arpa there.tsv
    [ ! -e new ]
}

@test "only a space has words to export" {
    mkdir folder
    quern dictionary corpus.jsonl -o words --quiet
    for what in nosuch folder graph.tsv words store; do
        ends_with 2 quern export $what --words out.tsv
        [ ! -e out.tsv ]
    done
    ends_with 2 quern export words --words out.tsv
    says "is a dictionary"
    ends_with 2 quern export graph.tsv --words out.tsv
    says "graph.tsv is no space of words"
    ends_with 2 quern export nosuch --ciff out
    says "no such store"
}

@test "an answer that was asked for is told to a quiet user" {
    printf '%%%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 1\n' >m.mtx
    run --separate-stderr quern spmv m.mtx --error --quiet
    [[ $stderr == *"0 rows not rounded right"* ]]
    printf '0 1\n1 0\n2 0\n' >truth.txt
    run --separate-stderr quern nearest set.txt --queries set.txt -k 1 --truth truth.txt --quiet
    [[ $stderr == *"recall@1"* ]]
    : >none
    run --separate-stderr quern search store --topics none --quiet
    [ "$status" -eq 1 ] && [[ $stderr == *"none holds no topics"* ]]
}

@test "messages that say what to do" {
    printf 'id and text\na\tone two\nb\tthree\n' >odd.tsv
    ends_with 3 quern build odd.tsv -o other
    says "odd.tsv: the form of the collection cannot be told: line 1 has no tab"
    printf 'a\tone two\nb\tthree\nc\n' >odd.tsv
    ends_with 3 quern build odd.tsv -o other
    says "line 3 has no tab behind an id, as others have; with --input-format tsv"
    printf '{"text":"one"}\n' >no.jsonl
    ends_with 3 quern build no.jsonl -o other
    says 'no.jsonl:1: the id is missing: a document needs "id" and "text"'
    quern build corpus.jsonl -o other --skip all,ranks --quiet
    quern words --help | tr -s ' \n' ' ' | grep -q 'rejected before the run fails with exit code 3'
}
