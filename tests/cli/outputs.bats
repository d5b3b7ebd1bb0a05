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

@test "an output named .gz or .zst is compressed, whatever its content" {
    command -v zstd >/dev/null || skip "needs zstd"
    same quern dedup corpus.jsonl --threshold 0.2 -o clean.jsonl
    same quern dedup corpus.jsonl --threshold 0.2 --pairs pairs.tsv
    same quern dedup corpus.jsonl --threshold 0.2 --groups groups.tsv
    same quern filter corpus.jsonl --rules length.min-words=2 -o long.jsonl
    same quern filter corpus.jsonl --rules length.max-words=2 --removed long.tsv
    same quern decontaminate corpus.jsonl --against graph.tsv -o rest.jsonl
    same quern decontaminate corpus.jsonl --against corpus.jsonl --matches leaks.tsv
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

@test "an unsupported output is rejected by its name, before the work" {
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

@test "a missing folder" {
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
    says "a.run is not a folder"
    [ ! -e nowhere ]
}

# Every option that names an output, up to its value.
outputs() {
    cat <<'END'
build corpus.jsonl --skip all -o STORE
build corpus.jsonl --skip all -o new --report
words corpus.jsonl --min-count 1 -o STORE
words corpus.jsonl --min-count 1 -o new --export
words corpus.jsonl --min-count 1 -o new --report
dictionary corpus.jsonl -o
dedup corpus.jsonl -o
dedup corpus.jsonl --pairs
dedup corpus.jsonl --groups
dedup corpus.jsonl --report
dedup corpus.jsonl --store STORE
filter corpus.jsonl --rules c4 -o
filter corpus.jsonl --rules c4 --removed
filter corpus.jsonl --rules c4 --report
decontaminate corpus.jsonl --against corpus.jsonl -o
decontaminate corpus.jsonl --against corpus.jsonl --matches
decontaminate corpus.jsonl --against corpus.jsonl --report
signature corpus.jsonl -o
ngrams corpus.jsonl -o
ngrams corpus.jsonl --totals
ngrams corpus.jsonl --arpa
search store red -o
search store --topics topics --run
similar space red -o
contexts space red -o
count store red -o
export store --ciff
export store --arpa
export store --graph
export store --documents
export space --words
pagerank graph.tsv -o
spmv graph.mtx -o
nearest set.txt --queries set.txt -o
topk list -o
fuse a.run -o
evaluate qrels a.run -o
info store -o
verify store -o
doctor -o
pagerank graph.tsv --stats
serve store --port 0 --stats
END
}

@test "a name that cannot be written is rejected before the work, whatever the option" {
    printf '%%%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 1\n' >graph.mtx
    printf 'a\t1\n' >list
    printf '1 0 a 1\n' >qrels
    mkdir folder
    ln -s circle circle
    touch plain
    long=$(head -c 256 /dev/zero | tr '\0' x)
    before=$(find . -not -name 'separate-stderr*' | sort)
    [ "$(outputs | wc -l)" -gt 30 ]
    while read -r command; do
        names="gone/ folder nowhere/x plain/x $long circle"
        if [[ $command == *STORE ]]; then
            command=${command% STORE}
            names="nowhere/x plain/x $long circle plain"
        fi
        for name in $names ''; do
            [[ $name == gone/ && $command =~ ^(decontaminate|dedup|filter)" "corpus.jsonl.*" "-o$ ]] && continue # the folder that it creates
            # shellcheck disable=SC2086 # words of the command
            run --separate-stderr timeout 600 "$QUERN" $command "$name"
            [ "$status" -eq 2 ] && [ -z "$output" ] || { echo "$command $name: $status $output $stderr"; return 1; }
            case $name in
            '') said="the name is empty" ;;
            gone/) said="gone/ names a folder" ;;
            folder) said="folder is a folder" ;;
            nowhere/x) said="there is no folder nowhere" ;;
            plain/x) said="plain is not a folder" ;;
            plain) said="plain exists and is not a folder" ;;
            circle) said="circle: a symbolic link that leads to itself" ;;
            *) said="the name is longer than the file system allows" ;;
            esac
            [[ $stderr == *"$said"* ]] || { echo "$command $name said $stderr"; return 1; }
        done
        [ "$(find . -not -name 'separate-stderr*' | sort)" = "$before" ] || { echo "$command left something"; return 1; }
    done < <(outputs)
}

@test "a read-only folder is rejected before the work" {
    mkdir locked
    local mounted=
    if mount -t tmpfs -o ro tmpfs locked 2>/dev/null; then
        mounted=yes
    else
        chmod a-w locked
        [ "$(id -u)" -ne 0 ] || skip "root writes everywhere, and may not mount"
    fi
    refused_in_locked >said 2>&1 || touch failed
    [ -z "$mounted" ] || umount locked
    cat said
    [ ! -e failed ]
}

refused_in_locked() {
    for command in "export store --documents new --ciff" "ngrams corpus.jsonl --totals new --arpa" "dictionary corpus.jsonl -o" \
        "build corpus.jsonl -o" "words corpus.jsonl -o" "dedup corpus.jsonl --store" "dedup corpus.jsonl --groups new -o"; do
        # shellcheck disable=SC2086
        ends_with 4 quern $command locked/x && says "locked: cannot write in this folder" && [ ! -e new ] || return 1
    done
}

@test "a name of the maximum length" {
    long=$(head -c 255 /dev/zero | tr '\0' y)
    ends_with 0 quern pagerank graph.tsv -o "$long"
    ends_with 0 quern pagerank graph.tsv -o "$long" --force
    [ "$(wc -l <"$long")" -eq 3 ]
    ends_with 0 quern build corpus.jsonl -o "${long:0:254}" --skip all
    ends_with 0 quern build corpus.jsonl -o "${long:0:254}" --skip all --force
    quern verify "${long:0:254}"
}

@test "a name with an unsupported ending is rejected with the supported ones" {
    for command in "ngrams corpus.jsonl --arpa" "export store --arpa" "pagerank graph.tsv -o" "export store --graph" \
        "words corpus.jsonl -o new --report" "search store --topics topics --run"; do
        for ending in bin pdf parquet h5 sqlite; do
            # shellcheck disable=SC2086
            ends_with 2 quern $command x.$ending
            says "x.$ending: the extension .$ending does not fit this output"
        done
    done
    for command in "ngrams corpus.jsonl --arpa" "words corpus.jsonl -o new --report" "export store --ciff"; do
        # shellcheck disable=SC2086
        ends_with 2 quern $command x.tsv
    done
    ends_with 2 quern nearest set.txt --queries set.txt -o nn.npy
    says "(expected rows, such as FILE.tsv, or two matrices, FILE.ibin of ids and FILE.fbin of distances"
    [ ! -e new ]
    ends_with 0 quern dictionary corpus.jsonl -o words.bin
    ends_with 0 quern export store --ciff x.bin
    ends_with 0 quern ngrams corpus.jsonl --arpa x.lm.gz
}

@test "rows of another format than the name suggests are reported" {
    ends_with 0 quern pagerank graph.tsv -o ranks.jsonl
    [[ $stderr == *"warning: ranks.jsonl: contains tab-separated rows; --format jsonl"* ]]
    ends_with 0 quern pagerank graph.tsv -o ranks.jsonl --format jsonl --force
    [[ $stderr != *warning* ]]
    ends_with 0 quern pagerank graph.tsv -o ranks.csv
    [[ $stderr == *"warning: ranks.csv: contains tab-separated rows, not comma-separated ones"* ]]
    ends_with 0 quern pagerank graph.tsv -o ranks.tsv
    [[ $stderr != *warning* ]]
}

@test "a store for near-duplicates must not be inside an input" {
    mkdir texts
    echo one two >texts/a.txt
    ends_with 2 quern dedup texts --store texts/seen
    says "texts/seen is inside the input texts"
    ends_with 2 quern dedup corpus.jsonl --store corpus.jsonl
    says "corpus.jsonl is an input"
    quern dedup corpus.jsonl --store seen --quiet
    ends_with 2 quern dedup corpus.jsonl --store seen -o seen/new
    says "seen/new is inside the"
}

@test "many topics on the CPU alone: no message mentions GPUs" {
    quern doctor --format tsv | grep -q '^primitives	cpu	' || skip "built with CUDA"
    ends_with 0 quern search store --topics topics
    [[ $stderr != *GPU* ]]
}

@test "a folder in place of a file" {
    mkdir folder
    echo 1 0 a 1 >judged
    for command in "pagerank folder" "spmv folder" "evaluate folder a.run" "evaluate judged folder" "fuse folder" "topk folder"; do
        # shellcheck disable=SC2086
        ends_with 2 quern $command
        says "folder is a folder"
    done
}

@test "all outputs are checked before one is written" {
    touch there.tsv
    ends_with 2 quern export store --arpa new.arpa --ciff new.ciff --documents there.tsv
    says "there.tsv exists; --force"
    ends_with 2 quern export store --arpa new.arpa --documents nowhere/x
    ends_with 2 quern export store --arpa new.arpa --documents x.bz2
    [ ! -e new.arpa ]
    [ ! -e new.ciff ]
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
    says "graph.tsv is not a word space"
    ends_with 2 quern export nosuch --ciff out
    says "no such store"
}

@test "a requested result is printed even with --quiet" {
    printf '%%%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 1\n' >m.mtx
    run --separate-stderr quern spmv m.mtx --error --quiet
    [[ $stderr == *"0 rows not correctly rounded"* ]]
    printf '0 1\n1 0\n2 0\n' >truth.txt
    run --separate-stderr quern nearest set.txt --queries set.txt -k 1 --truth truth.txt --quiet
    [[ $stderr == *"recall@1"* ]]
    : >none
    run --separate-stderr quern search store --topics none --quiet
    [ "$status" -eq 1 ] && [[ $stderr == *"none contains no topics (expected lines"* ]]
}

@test "messages advise what to do" {
    printf 'id and text\na\tone two\nb\tthree\n' >odd.tsv
    ends_with 3 quern build odd.tsv -o other
    says "odd.tsv: cannot detect the corpus format: line 1 has no tab"
    printf 'a\tone two\nb\tthree\nc\n' >odd.tsv
    ends_with 3 quern build odd.tsv -o other
    says "line 3 has no tab after an id, unlike others; with --input-format tsv"
    printf ' [{"id":1,"text":"one"}]\n' >array.json
    ends_with 3 quern build array.json -o other
    says "without commas or brackets around them (jq -c '.[]' makes them of it)"
    printf '\n \n' >blank.jsonl
    ends_with 3 quern build blank.jsonl -o other
    says "blank.jsonl: holds no documents"
    printf 'id,text\n1,one\n' >one.csv
    ends_with 3 quern build - -o other <one.csv
    says "standard input is read as JSON lines unless --input-format names another form"
    printf '{"uuid":7,"question":"one"}\n' >no.jsonl
    ends_with 3 quern build no.jsonl -o other
    says 'no.jsonl:1: no text: expected "text" (or "contents", "content", "body", "document", "passage", "segment", "abstract", "raw_content"), found "uuid", "question"'
    quern build corpus.jsonl -o other --skip all,ranks --quiet
    quern words --help | tr -s ' \n' ' ' | grep -q 'the run fails with exit code 3'
}

@test "several outputs appear together or not at all" {
    # The last output fails at its end: the disk is full.
    ends_with 4 quern dedup corpus.jsonl --pairs pairs --groups groups -o kept --report /dev/full
    says "/dev/full: cannot write: No space left"
    [ ! -e pairs ]
    [ ! -e groups ]
    [ ! -e kept ]
    ends_with 4 quern dedup corpus.jsonl --pairs pairs --groups /dev/full
    [ ! -e pairs ]
    ends_with 4 quern export store --graph links --documents /dev/full
    [ ! -e links ]
    ends_with 4 quern ngrams corpus.jsonl -o rows --totals totals --arpa /dev/full
    [ ! -e rows ]
    [ ! -e totals ]
    ends_with 4 quern ngrams corpus.jsonl -o /dev/full --totals totals --arpa model.arpa
    [ ! -e totals ]
    [ ! -e model.arpa ]
    ends_with 4 quern words corpus.jsonl -o new --min-count 1 --export rows --report /dev/full
    [ ! -e rows ]
    # With --force, the old files are kept.
    for file in pairs groups; do echo old >$file; done
    ends_with 4 quern dedup corpus.jsonl --pairs pairs --groups groups -o /dev/full --force
    [ "$(cat pairs groups)" = $'old\nold' ]
    [ -z "$(find . -name '.*quern*')" ]
}

@test "an output to an open descriptor" {
    quern dedup corpus.jsonl --pairs - --quiet >expected
    [ -s expected ]
    quern dedup corpus.jsonl --pairs /dev/stdout --quiet | diff expected -
    quern dedup corpus.jsonl --pairs /dev/stdout --quiet >file
    diff expected file
    quern dedup corpus.jsonl --pairs /dev/fd/5 --quiet 5>file | diff /dev/null -
    diff expected file
    quern dedup corpus.jsonl --groups >(cat >groups.pipe) --pairs /dev/fd/1 --quiet | diff expected -
    quern dedup corpus.jsonl --pairs /dev/stderr --quiet 2>file
    diff expected file
    ends_with 2 quern dedup corpus.jsonl --pairs /dev/stdout --groups -
    says "two kinds of results cannot both go to standard output"
    ends_with 4 quern dedup corpus.jsonl --pairs /dev/fd/0 </dev/null
    says "/dev/fd/0: cannot write: Bad file descriptor"
    ends_with 4 quern dedup corpus.jsonl --pairs /dev/fd/77
    says "/dev/fd/77: cannot write: Bad file descriptor"
}

@test "a list of inputs, and lists of words, are inputs" {
    echo corpus.jsonl >list
    printf 'lorem\n' >words.txt
    printf '[c4]\nbad-words = "words.txt"\n' >rules.toml
    cp list list.before
    cp words.txt words.before
    refused "list is an input and would be overwritten" dedup --files-from list -o list --force
    refused "list is an input and would be overwritten" filter --files-from list --rules c4 --removed list --force
    refused "words.txt is an input and would be overwritten" filter corpus.jsonl --rules c4,c4.bad-words=words.txt -o words.txt --force
    refused "words.txt is an input and would be overwritten" filter corpus.jsonl --rules-file rules.toml --removed words.txt --force
    refused "words.txt is an input and would be overwritten" filter corpus.jsonl \
        --rules gopher-quality,gopher-quality.stop-words=words.txt --report words.txt --force
    cmp list list.before
    cmp words.txt words.before
}
