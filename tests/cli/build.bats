#!/usr/bin/env bats
# shellcheck disable=SC2154 # bats sets $stderr and $output
# The stages of a build: which run, what they leave out, and that a build which is killed goes on where it stopped.
load common

mills() { # seven documents: two copies, and one that is near a copy only
    python3 - <<'END'
import json
first = "The mill by the river grinds the grain of all who come, and it takes a tenth of it."
second = "A windmill stands on the hill; when there is no wind its miller goes fishing instead."
far = "######" + first[6:]
farther = far[:40] + "######" + far[46:]
for id, text, links in [("a", first, ["far", "b"]), ("far", far, []), ("b", second, ["farther", "again"]),
                        ("farther", farther, []), ("c", "Another text of some length.", ["again"]),
                        ("again", second, []), ("d", "", [])]:
    print(json.dumps({"id": id, "title": "Title of " + id, "text": text, "links": links}))
END
}

property() { quern info "$1" --format tsv | awk -F '\t' -v name="$2" '$1 == name { print $2 }'; }

# same_bytes A B: two stores hold the same, but for what a run costs.
same_bytes() { diff -r -x stats.json -x '*.log' "$1" "$2"; }

@test "a stage without input reports it" {
    printf '{"id": "1", "text": "one word"}\n{"id": "2", "text": "two other words"}\n' >few.jsonl
    ends_with 0 quern build few.jsonl -o store
    [[ $stderr == *"ranks: there are no links"*"thesaurus: there is too little text"*"vectors: the store has no thesaurus"* ]]
    [[ $stderr != *".quern-"* && $stderr != *"--min-count"* && $stderr != *"dimensions"* ]]
    quern verify store
}

@test "near-duplicates are excluded, and info counts them" {
    mills >mills.jsonl
    ends_with 0 quern build mills.jsonl -o store --device cpu
    [[ $stderr == *"duplicates: done on cpu"*"index: done on cpu"*"ranks: done on cpu"* ]]
    [[ $stderr == *"5 documents"*"2 near-duplicates excluded"* ]]
    [ "$(property store documents) $(property store copies) $(property store links)" = "5 2 5" ]
    [[ $(property store stages) == duplicates,ranks* ]]
    [ "$(quern search store miller --quiet | cut -f 2)" = b ]
    quern verify store
}

@test "a catalogue of which many rows are excluded gives a warning" {
    rows() { # rows FIRST LAST: of products with almost the same description
        seq "$1" "$2" | awk '{ printf "%d,Mill of granite,A hand mill of granite for wheat and rye with a wooden handle. Number %d.\n", $1, $1 }'
    }
    { echo id,title,text && rows 1 20; } >products.csv
    ends_with 0 quern build products.csv -o store --quiet
    says "warning: 19 of 20 documents are excluded as near-duplicates of others (edit rate below 0.05); a build with --skip duplicates keeps them"
    ends_with 0 quern build products.csv -o kept --skip duplicates --quiet
    [ "$stderr" = "" ]
    [ "$(property kept documents)" -eq 20 ]
    { rows 21 22 && echo "99,Sack,Linen and jute"; } | awk 'BEGIN { print "id,title,text" } { print }' >more.csv
    ends_with 0 quern build more.csv -o store --update --quiet
    says "warning: 2 of 3 documents"

    python3 - >different.jsonl <<'END'
import hashlib, json
for i in range(20):  # the last is a copy
    print(json.dumps({"id": str(i), "text": " ".join(hashlib.sha256(b"%d %d" % (min(i, 18), j)).hexdigest() for j in range(4))}))
END
    ends_with 0 quern build different.jsonl -o few --quiet
    [ "$stderr" = "" ]
    [ "$(property few documents) $(property few copies)" = "19 1" ]
}

@test "--skip skips stages" {
    mills >mills.jsonl
    quern build mills.jsonl -o all --skip all --quiet
    [ "$(property all documents) $(property all copies)" = "7 0" ]
    [ -z "$(property all stages)" ]
    quern build mills.jsonl -o some --skip 'duplicates, ranks' --quiet
    [ "$(property some documents)" -eq 7 ]
    [[ $(property some stages) != *ranks* ]]
    ends_with 2 quern build mills.jsonl -o none --skip rank
    says "invalid value 'rank' (expected one of duplicates, ranks, thesaurus, vectors, all)"
    ends_with 2 quern build mills.jsonl -o none --skip ''
    [ ! -e none ]
}

@test "standard input gives the same store as the file" {
    mills >mills.jsonl
    quern build mills.jsonl -o file --quiet
    quern build - -o piped --quiet <mills.jsonl
    same_bytes file piped
}

@test "--stats reports every stage" {
    mills >mills.jsonl
    quern build mills.jsonl -o store --quiet --stats build.json
    [ "$(json build.json "all(n in [s['name'] for s in d['stages']] for n in ('read', 'duplicates', 'collection', 'ranks', 'commit'))")" = True ]
    [ "$(json build.json "d['counts']['documents'], d['counts']['copies']")" = "(5, 2)" ]
}

# large_corpus: so much that a stage takes some tenths of a second; every fifth document is a copy.
large_corpus() {
    python3 - <<'END'
import json, random
random.seed(1)
words = ["".join(random.choice("abcdefghijklmnopqrstuvwxyz") for _ in range(6)) for _ in range(1000)]
texts = []
for i in range(1000):
    if i % 5 == 4:
        text = random.choice(texts) + " end"
    else:
        text = " ".join(random.choice(words) for _ in range(random.randrange(50, 800)))
    texts.append(text)
    links = ["d%d" % random.randrange(1000) for _ in range(3)]
    print(json.dumps({"id": "d%d" % i, "text": text, "links": links}))
END
}

# killed_after TEXT COMMAND...: kills the command, as by the system, as soon as it says TEXT. False where it ended before.
killed_after() {
    local text=$1 pid line status=0
    shift
    mkfifo said
    nice -n 19 "$@" 2>said 3>&- & # the reader must be quicker
    pid=$!
    while IFS= read -r line; do
        if [[ $line == *"$text"* ]]; then
            kill -9 "$pid" 2>/dev/null || true
            break
        fi
    done <said
    wait "$pid" || status=$?
    rm said
    [ "$status" -eq 137 ]
}

@test "killed after a stage, a build resumes there and gives the same bytes" {
    large_corpus >large.jsonl
    quern build large.jsonl -o whole --quiet
    for stage in duplicates index; do
        killed_after "$stage: done" "$QUERN" build large.jsonl -o store --threads 1
        [ ! -e store ]
        ends_with 0 quern build large.jsonl -o store
        [[ $stderr == *"resuming an interrupted build; finished stages:"*"$stage"* ]]
        same_bytes whole store
        rm -r store
        [ -z "$(find . -name '.store*')" ]
    done
}

@test "killed at random moments, a build of a hundred shards gives the bytes of one file" {
    local documents=600 most=600 trials=1 kills=0
    [ -z "${QUERN_LONG:-}" ] || documents=1000 most=1000 trials=20
    large_corpus | sed "${documents}q" >one.jsonl
    mkdir many
    split -n l/100 -d -a 2 --additional-suffix=.jsonl one.jsonl many/p
    for i in $(seq -w 1 3 99); do gzip -n "many/p$i.jsonl"; done
    for i in $(seq -w 2 3 99); do zstd -q --rm "many/p$i.jsonl"; done
    quern build one.jsonl -o whole --quiet
    for _ in $(seq "$trials"); do
        rm -rf store
        until_done "$most" build 'many/*' -o store
        same_bytes whole store
        [ -z "$(find . -maxdepth 1 -name '.store*')" ]
    done
    echo "$kills kills"
    [ $kills -gt 0 ]
}

@test "killed twice, over an older store: the old store stays until the end" {
    large_corpus >large.jsonl
    mills >mills.jsonl
    quern build large.jsonl -o whole --quiet
    quern build mills.jsonl -o store --quiet
    quern build mills.jsonl -o old --quiet
    killed_after "duplicates: done" "$QUERN" build large.jsonl -o store --force
    same_bytes old store
    killed_after "index: done" "$QUERN" build large.jsonl -o store --force
    same_bytes old store
    ends_with 0 quern build large.jsonl -o store --force
    [[ $stderr == *"finished stages: duplicates index"* ]]
    same_bytes whole store
    [ -z "$(find . -name '.store*')" ]
}

@test "a killed build of a changed corpus starts over" {
    large_corpus >large.jsonl
    killed_after "index: done" "$QUERN" build large.jsonl -o store
    echo '{"id": "new", "text": "one more"}' >>large.jsonl
    ends_with 0 quern build large.jsonl -o store
    [[ $stderr != *"resuming"* ]]
    quern search store more --quiet | grep -q new
    [ -z "$(find . -name '.store*')" ]
}

@test "--update adds to a store; killed, it resumes, and the old store stays until the end" {
    large_corpus >large.jsonl
    head -n 700 large.jsonl >old.jsonl
    tail -n 300 large.jsonl >new.jsonl
    quern build old.jsonl new.jsonl -o both --quiet
    quern build old.jsonl -o store --quiet
    quern build old.jsonl -o old --quiet
    for stage in duplicates index; do
        killed_after "$stage: done" "$QUERN" build new.jsonl -o store --update --threads 1
        same_bytes old store
    done
    ends_with 0 quern build new.jsonl -o store --update
    [[ $stderr == *"finished stages: duplicates index"* ]]
    same_bytes both store
    [ -z "$(find . -name '.store*')" ]
    quern verify store
    cp -r store before
    ends_with 2 flock .store.quern-lock "$QUERN" build new.jsonl -o store --update # as if another one were at work
    says "another build of $PWD/store is in progress"
    ends_with 2 flock .store.quern-lock "$QUERN" build new.jsonl -o store --force
    diff -r before store
    ends_with 2 quern build new.jsonl -o store --update --skip ranks
    ends_with 2 quern build new.jsonl -o store --update --stem porter
    ends_with 2 quern build new.jsonl -o none --update
    says "no such store"
}

@test "--sync follows a folder; killed, it resumes; the same command makes the store" {
    mkdir pages
    for i in $(seq 40); do seq -s " " -f "w%.0f" "$((i * 100))" "$((i * 100 + 20))" >"pages/$i.txt"; done
    touch -d "2 hours ago" pages/*
    sleep 0.1 # a file that changed less than 50 ms before may change again unnoticed
    local sync=("$QUERN" build pages -o store --sync --stem porter)
    ends_with 0 "${sync[@]}"
    says "40 documents"
    ends_with 0 "${sync[@]}"
    says "store is up to date: no input has changed"
    mkdir .store.quern-killed # what a --sync leaves that is killed after its store has the name
    echo old >.store.quern-killed/texts.section
    ends_with 0 quern build pages -o store --sync # the store has its options
    says "up to date"
    [ ! -e .store.quern-killed ]
    rm pages/3.txt
    mv pages/4.txt pages/moved.txt
    echo "page 5 was rewritten" >pages/5.txt
    cp -r store before
    killed_after "index: done" "${sync[@]}"
    same_bytes before store
    ends_with 0 "${sync[@]}"
    says "1 added, 1 changed, 2 removed"
    [ "$(counted store unchanged_documents)" -eq 37 ]
    quern build pages -o fresh --stem porter --quiet
    same_bytes fresh store
    ends_with 2 quern build pages -o store --sync --stem none
    says "was built with other text options"
    ends_with 2 quern build pages -o store --sync --skip all
    says "was built with other --skip"
    ends_with 2 quern build pages -o store --sync --keep-fields a
    says "was built with other --keep-fields"
    for _ in 1 2; do ends_with 0 quern build pages -o stemmed --sync --language en --stem auto --skip all || return 1; done
    ends_with 2 quern build pages -o store --sync --update
    ends_with 2 quern build -o store --sync
    says "CORPUS is required"
    same_bytes fresh store
}

counted() { python3 -c 'import json, sys; print(json.load(open(sys.argv[1] + "/stats.json"))["counts"][sys.argv[2]])' "$1" "$2"; }
unchanged_files() { counted "$1" unchanged_files; }

@test "--sync of a folder reads the files again that have changed, and gives the store of a new build" {
    mkdir -p pages/inner
    for i in $(seq 30); do
        seq -s " " -f "w%.0f" "$((i * 100))" "$((i * 100 + 20))" >"pages/$i.txt"
        echo "<title>Page $i</title><p>$(seq -s " " -f "x%.0f" "$((i * 99))" "$((i * 99 + 30))")</p><a href='../$i.txt'>one</a>" \
            >"pages/inner/$i.html"
    done
    echo '{"id": "r", "text": "a record among the pages"}' >pages/records.jsonl
    cp pages/7.txt pages/copy.txt
    touch -d "2 hours ago" pages/*.* pages/inner/*
    local sync=("$QUERN" build pages -o store --sync --quiet)
    check() { # check FILES: as many were not read again, and the store is that of a new build
        sleep 0.1 # a file that changed less than 50 ms before may change again unnoticed
        ends_with 0 "${sync[@]}"
        echo "not read again: $(unchanged_files store), expected $1"
        [ "$(unchanged_files store)" -eq "$1" ]
        quern build pages -o fresh --force --quiet
        [ ! -e fresh/read_files.log ]
        [ ! -e fresh/near_duplicates.log ]
        same_bytes fresh store
        quern verify store --quiet
    }
    check 0
    echo "page 5 was rewritten" >pages/5.txt
    touch -d "next year" pages/5.txt # always read again
    check 60
    echo "another page" >"pages/a new page.txt"
    mv pages/6.txt pages/moved.txt
    rm pages/7.txt # its copy is indexed now
    check 58
    chmod 600 pages/8.txt
    touch pages/9.txt
    mkdir pages/other && mv pages/inner/3.html pages/other/
    check 57
    touch pages/records.jsonl
    check 60

    # Content with the size and the time of before: the system's own time tells.
    local time
    time=$(stat -c %y pages/10.txt)
    tr w v <pages/10.txt >changed && cat changed >pages/10.txt
    touch -d "$time" pages/10.txt
    check 59

    # A log that is damaged, cut, of another command or missing: everything is read.
    printf XXXX | dd of=store/read_files.log bs=1 seek=200 conv=notrunc status=none
    check 0
    truncate -s -9 store/read_files.log
    check 0
    sync+=(--memory 1G)
    check 0
    rm store/read_files.log
    check 0
    check 60

    # Killed and resumed, it has its log.
    touch pages/12.txt
    sleep 0.1
    killed_after "index: done" "$QUERN" build pages -o store --sync --memory 1G
    check 59
    check 60

    # Texts are compared with others once, wherever they are now; without a whole log, again.
    knows() { # knows TEXTS
        echo "not compared again: $(counted store unchanged_texts), expected $1"
        [ "$(counted store unchanged_texts)" -eq "$1" ]
    }
    knows 62
    mv pages/13.txt pages/13b.txt
    check 59
    knows 62
    cp pages/13b.txt "pages/a copy of 13.txt"
    echo "one more text" >pages/14.txt
    check 59
    knows 62
    printf XXXX | dd of=store/near_duplicates.log bs=1 seek=200 conv=notrunc status=none
    touch pages/12.txt
    check 60
    knows 0
    rm store/near_duplicates.log
    touch pages/12.txt
    check 60
    knows 0
    touch pages/12.txt
    sleep 0.1
    killed_after "duplicates: done" "$QUERN" build pages -o store --sync --memory 1G
    check 60
    touch pages/12.txt
    check 60
    knows 63
}

@test "--delete and --replace change single documents" {
    for i in $(seq 20); do echo "{\"id\":\"$i\",\"text\":\"number $i has word$((i * i))\"}"; done >all.jsonl
    quern build all.jsonl -o store --skip all --quiet
    printf '3\r\n\n4\n' >ids
    ends_with 0 quern build -o store --delete ids
    says "0 added, 0 changed, 2 removed"
    grep -vE '"id":"(3|4)"' all.jsonl >left.jsonl
    quern build left.jsonl -o fresh --skip all --quiet
    same_bytes fresh store
    ends_with 0 quern build -o store --delete - <<<$'nobody\n'
    says "1 id to delete not in the store: nobody"
    same_bytes fresh store
    echo '{"id":"7","text":"seven again"}' >new.jsonl
    ends_with 0 quern build new.jsonl -o store --replace
    says "0 added, 1 changed, 0 removed"
    grep -v '"id":"7"' left.jsonl | cat - new.jsonl >now.jsonl
    quern build now.jsonl -o fresh --skip all --quiet --force
    same_bytes fresh store
    ends_with 0 quern build - -o store --replace --delete ids <new.jsonl # from a pipe
    same_bytes fresh store
    ends_with 2 quern build new.jsonl -o store --replace --stem porter
    says "cannot be combined with --replace"
    ends_with 2 quern build -o store --delete missing
    ends_with 2 quern build -o none --delete ids
    says "no such store"
}

@test "a folder that is no store is never offered for replacement" {
    mkdir other && touch other/file
    echo '{"id":1,"text":"x"}' >one.jsonl
    ends_with 2 quern build one.jsonl -o other
    says "exists and is not a store (expected a new name)"
}

@test "vectors that do not exist are refused before the work" {
    mills >mills.jsonl
    ends_with 2 quern build mills.jsonl -o store --vectors missing.npy
    says "missing.npy: no such file (expected vectors of documents)"
    [[ $stderr != *done* ]]
    ends_with 2 quern build mills.jsonl -o store --vectors .
    says ". is a folder (expected a file with vectors of documents)"
    ends_with 2 quern build mills.jsonl -o store --vectors "$(printf 'x%.0s' {1..300})"
    says ": File name too long (expected vectors of documents)"
}
