#!/usr/bin/env bats
# shellcheck disable=SC2016,SC2154 # bash -c expands its own text; common and bats set $data, $stderr
# quern decontaminate: what it writes, where, and what it refuses.
load common

own_setup() {
    cat >test.jsonl <<'END'
{"id":"q1","text":"How many sacks of corn does the mill by the river grind between dawn and dusk if the wheel turns nine times an hour?"}
{"id":"q2","text":"Name the capital of the country."}
{"id":"q3","text":" - "}
END
    cat >train.jsonl <<'END'
{"id":"a","text":"Nothing of interest."}
{"id":"b",  "text":"A riddle. HOW MANY SACKS of corn does the mill by the river\n\ngrind between dawn, and dusk: if the wheel turns nine times an hour? Nobody knows.", "more":1}
{"id":"c","text":"Name the capital, of the country"}
{"id":"d","text":"Name the capital of this country"}
{"id":"e","text":"How many sacks of corn does the mill by the river grind between dawn and what follows is different from the question in every word"}
END
}

refused() { # refused TEXT ARGUMENT...
    local text=$1
    shift
    ends_with 2 quern decontaminate "$@"
    says "$text"
}

decontaminate() { quern decontaminate --quiet "$@"; }

@test "matches: by item, then by document; kept documents byte for byte" {
    decontaminate train.jsonl --against test.jsonl -o kept.jsonl --matches - |
        diff <(printf 'q1\tb\t1\t10-128\nq2\tc\t1\t0-32\n') -
    sed -n '1p;4,5p' train.jsonl | cmp - kept.jsonl
    decontaminate train.jsonl --against test.jsonl | diff <(printf 'q1\tb\t1\t10-128\nq2\tc\t1\t0-32\n') -
    [ -z "$(decontaminate train.jsonl --against test.jsonl -o kept.jsonl --force)" ]
    decontaminate train.jsonl --against test.jsonl --format jsonl | head -n 1 |
        diff <(echo '{"eval_id":"q1","train_id":"b","share":1,"place":"10-128"}') -
    decontaminate train.jsonl --against test.jsonl --format table | head -n 1 | grep -q '^eval_id *train_id *share *place$'
    decontaminate kept.jsonl --against test.jsonl -o - | cmp - kept.jsonl
}

@test "the share is exact at the threshold" {
    # A change of the word in the middle of 24: 5 of the 20 5-grams are gone, and all 13-grams.
    printf '{"id":"q","text":"%s"}\n' "$(seq -s ' ' 24)" >q.jsonl
    printf '{"id":"t","text":"%s"}\n' "$(seq -s ' ' 24 | sed 's/ 12 / x /')" >t.jsonl
    [ "$(decontaminate t.jsonl --against q.jsonl --ngram 5 --overlap 0.75)" = $'q\tt\t0.75\t0-61' ]
    [ -z "$(decontaminate t.jsonl --against q.jsonl --ngram 5 --overlap 0.750000001)" ]
    [ -z "$(decontaminate t.jsonl --against q.jsonl --overlap 0.01)" ]
    sed 's/ x / x y /' t.jsonl | decontaminate - --against q.jsonl --ngram 5 | cut -f 1-3 | grep -qx $'q\tt\t0.75'
}

@test "the text options apply to both sides" {
    printf 'q\tThe millers were grinding\n' >q.tsv
    printf 't\ta miller is grinding\nu\tmiller grind\n' >t.tsv
    [ -z "$(decontaminate t.tsv --against q.tsv)" ]
    [ "$(decontaminate t.tsv --against q.tsv --stem porter --stop-words lucene --min-length 5 | cut -f 2 | tr -d '\n')" = tu ]
    decontaminate t.tsv --against q.tsv -o - | cmp - t.tsv
}

@test "several sets with the same ids, and folders" {
    mkdir sets && cp test.jsonl sets/one.jsonl && head -n 1 test.jsonl >sets/two.jsonl
    decontaminate train.jsonl --against sets/one.jsonl --against sets/two.jsonl | cut -f 1-2 |
        diff <(printf 'q1\tb\nq2\tc\nsets/two.jsonl:q1\tb\n') -
    ends_with 0 quern decontaminate train.jsonl --against sets --report page.html
    says "4 items ("
    says "; 1 shorter than 13 words; 1 without words), 3 found; 5 documents, 2 contaminated; 3 matches"
    grep -q '<tr><td>sets</td><td class="n">4</td><td class="n">3</td>' page.html
    grep -q '<b>q1</b> of sets, in <b>b</b>: 12 of 12 n-grams, bytes 10 to 128' page.html
    refused "an id that is already taken" train.jsonl --against sets --ids global || [ "$status" -eq 3 ]
}

@test "the same bytes for any number of threads and any budget" {
    awk 'BEGIN { srand(3); for (d = 0; d < 3000; ++d) { printf "{\"id\":\"t%d\",\"text\":\"", d
        for (i = 0; i < 60; ++i) printf "w%d ", 90 * rand() * rand(); print "\"}" } }' >t.jsonl
    awk 'BEGIN { srand(4); for (d = 0; d < 800; ++d) { printf "{\"id\":\"q%d\",\"text\":\"", d
        for (i = 0; i < 3 + d % 9; ++i) printf "w%d ", 90 * rand() * rand(); print "\"}" } }' >q.jsonl
    decontaminate t.jsonl --against q.jsonl --ngram 3 --overlap 0.4 --matches m1 -o k1 --report r1.html --threads 1
    [ "$(wc -l <m1)" -gt 100 ]
    [ "$(wc -l <k1)" -gt 10 ]
    for options in "--threads 2" "--threads 8" "--threads 8 --memory 8M" "--threads 1 --memory 4M"; do
        # shellcheck disable=SC2086 # several options
        decontaminate t.jsonl --against q.jsonl --ngram 3 --overlap 0.4 --matches m2 -o k2 --report r2.html --force $options
        cmp m1 m2
        cmp k1 k2
        cmp r1.html r2.html
    done
}

@test "more matches than memory has room for" {
    local text="which of these mills grinds corn at the lower end of the long valley by night"
    for ((i = 0; i < 600; ++i)); do printf '{"id":"q%d","text":"%s"}\n' $i "$text"; done >q.jsonl
    for ((i = 0; i < 500; ++i)); do printf '{"id":"t%d","text":"%d: %s"}\n' $i $i "$text"; done >t.jsonl
    within 32M 0 decontaminate t.jsonl --against q.jsonl --matches few -o kept.jsonl --quiet
    awk 'BEGIN { for (i = 0; i < 600; ++i) for (d = 0; d < 500; ++d) print "q" i "\t" "t" d }' >expected
    cut -f 1,2 few | cmp - expected
    [ ! -s kept.jsonl ]
    decontaminate t.jsonl --against q.jsonl --matches - | cmp - few
    decontaminate t.jsonl --against q.jsonl | head -n 1 | grep -qx $'q0\tt0\t1\t3-80'
}

@test "a budget that the evaluation data exceeds is refused, and nothing is written" {
    endless_corpus | head -n 60000 >big.jsonl
    within 64M 0 decontaminate big.jsonl --against test.jsonl -o kept.jsonl --quiet
    cmp big.jsonl kept.jsonl
    within 64M 0 decontaminate big.jsonl --against <(head -n 20000 big.jsonl) -o kept.jsonl --quiet --force
    [ "$(wc -l <kept.jsonl)" -lt 60000 ]
    ends_with 4 quern decontaminate test.jsonl --against big.jsonl --memory 4M -o none.jsonl
    says "the evaluation data, which may take half of the budget, needs"
    [ ! -e none.jsonl ]
}

@test "bad requests are refused before the work" {
    refused "TRAIN is required" --against test.jsonl
    refused "--against is required" train.jsonl
    refused "no such file or folder" train.jsonl --against missing.jsonl
    refused "invalid value '0' (expected a number above 0, up to 1)" train.jsonl --against test.jsonl --overlap 0
    refused "expected a whole number from 1 to 1000" train.jsonl --against test.jsonl --ngram 0
    refused "standard input (-) can be given only once" - --against -
    refused "two kinds of results cannot both go to standard output" train.jsonl --against test.jsonl -o - --matches -
    refused "--overlap" train.jsonl --against test.jsonl --threshold 0.5
    refused "use --ngram" train.jsonl --against test.jsonl --n 5
    refused "would be overwritten" train.jsonl --against test.jsonl -o test.jsonl
    refused "--report cannot go to standard output" train.jsonl --against test.jsonl --report -
    build train.jsonl store
    refused "was made by quern and is not a corpus" store --against test.jsonl
    refused "was made by quern and is not a corpus" train.jsonl --against store
}

@test "standard input on either side, and compressed results" {
    decontaminate - --against test.jsonl <train.jsonl | cut -f 1,2 | diff <(printf 'q1\tb\nq2\tc\n') -
    decontaminate train.jsonl --against - <test.jsonl | cut -f 1,2 | diff <(printf 'q1\tb\nq2\tc\n') -
    decontaminate train.jsonl --against test.jsonl -o kept.jsonl.zst --stats stats.json
    sed -n '1p;4,5p' train.jsonl | cmp - <(zstd -dcq kept.jsonl.zst)
    [ "$(json stats.json 'd["counts"]["contaminated"], d["counts"]["empty_items"], d["counts"]["matches"]')" = "(2, 1, 2)" ]
}

@test "one output for each input, and a run that is killed and resumed" {
    mkdir in
    python3 - <<'PY'
import random
random.seed(3)
item = "How many sacks of corn does the mill by the river grind between dawn and dusk if the wheel turns nine times an hour?"
for shard in range(8):
    with open(f"in/s{shard}.jsonl", "w") as out:
        for n in range(400):
            words = " ".join(random.choices(["mill", "stone", "water", "of", "the", "and"], k=random.randint(5, 300)))
            text = f"{words} {item}" if random.random() < 0.1 else words
            print('{"id":"%d-%d","text":"%s","more":%d}' % (shard, n, text, n), file=out)
PY
    gzip -n in/s1.jsonl
    zstd -q --rm in/s2.jsonl
    local arguments=(in --against test.jsonl --threads 1 --force)
    decontaminate "${arguments[@]}" -o one.jsonl --matches of_one.tsv
    decontaminate "${arguments[@]}" -o whole/ --matches of_folder.tsv
    cmp of_one.tsv of_folder.tsv
    [ "$(wc -l <of_one.tsv)" -gt 100 ]
    { cat whole/s0.jsonl && gzip -dc whole/s1.jsonl.gz && zstd -qdc whole/s2.jsonl.zst && cat whole/s[3-7].jsonl; } |
        cmp - one.jsonl
    local kills=0 trials=3
    [ -z "${QUERN_LONG:-}" ] || trials=20
    for _ in $(seq "$trials"); do
        rm -rf out out.tsv
        until_done 400 decontaminate "${arguments[@]}" -o out/ --matches out.tsv --resume
        diff -r whole out
        cmp of_one.tsv out.tsv
        [ -z "$(find . -maxdepth 1 -name '.out*')" ]
    done
    echo "$kills kills"
    [ $kills -gt 0 ]
    quern decontaminate in --against test.jsonl --threads 1 -o out/ --matches out.tsv --resume 2>said
    grep -q 'out/ is complete already' said
    refused "--resume requires --output DIR/" in --against test.jsonl -o out.jsonl --resume
    refused "expected files or folders, not standard input" in --against - -o other/ --resume <test.jsonl
    refused "out exists and is not empty" in --against test.jsonl -o out/
    refused "is inside the input in" in --against test.jsonl -o in/out/
}

@test "rejected documents count on both sides, and end the run beyond --max-errors" {
    (cat test.jsonl && echo '{"id":') >broken.jsonl
    ends_with 3 quern decontaminate train.jsonl --against broken.jsonl -o kept.jsonl
    [ ! -e kept.jsonl ]
    ends_with 0 quern decontaminate train.jsonl --against broken.jsonl --max-errors 1 -o kept.jsonl
    [[ $stderr == *"broken.jsonl:4"* ]]
    [[ $stderr == *"1 rejected"* ]]
}

@test "an interrupted run leaves nothing" {
    mkdir out
    "$QUERN" decontaminate - --against test.jsonl -o out/kept.jsonl --quiet < <(endless_corpus 2>/dev/null) 2>message 3>&- &
    local program=$! code=0
    at_work $program
    kill -TERM $program
    wait $program || code=$?
    [ $code -eq 143 ]
    was_forced message || nothing_left out
}
