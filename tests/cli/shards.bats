#!/usr/bin/env bats
# shellcheck disable=SC2154 # bats sets $stderr and $output
# Sharded stores: the bytes of a search in one store of all documents, for every number of shards; what is refused.
load common

days() { # days N: N files of documents, which together are all.jsonl
    python3 - "$1" <<'END'
import json, random, sys
rng = random.Random(5)
words = "the mill by a river grinds grain of all who come and takes one tenth for its own salt from seas".split()
files = int(sys.argv[1])
whole = open("all.jsonl", "w")
parts = [open(f"day{i}.jsonl", "w") for i in range(files)]
for i in range(120):
    text = " ".join(rng.choice(words) for _ in range(5 + i % 40)) + f" rare{i % 19}. {rng.choice(words)} {i}"
    line = json.dumps({"id": f"d{i}", "title": f"Title {i % 17} of {words[i % 20]}", "text": text, "price": i % 9})
    print(line, file=whole)
    print(line, file=parts[min(files - 1, int((i / 120) ** 0.7 * files))])
END
}

parts() { # parts N: the store "whole", and a sharded store "apart" of N parts
    days "$1"
    rm -rf part-* apart
    quern build all.jsonl -o whole --skip all --keep-fields all --quiet --force
    for ((i = 0; i < $1; i++)); do build "day$i.jsonl" "part-$i" --keep-fields all; done
    quern merge part-* -o apart --sharded --quiet
}

same() { # same ARGUMENT...: the rows of a search in both stores
    quern search whole "$@" --quiet >expected || [ $? -eq 1 ]
    quern search apart "$@" --quiet >found || [ $? -eq 1 ]
    diff -u expected found
    [ -s expected ] || [ "${allow_none:-}" ]
}

@test "searches of 1, 2, 3 and 5 shards give the bytes of one store" {
    printf 't1\tmill grain rare3\nt2\tthe salt of all seas\nt3\trare18 rare18 absent\nt4\ttenth\n' >topics.tsv
    local models=(bm25 ql dirichlet two-stage lucene robertson atire bm25+ bm25l pl2 inl2)
    for shards in 3 1 2 5; do
        parts "$shards"
        for model in "${models[@]}"; do
            same --topics topics.tsv -k all --model "$model"
            same "mill rare7 grain" --model "$model" --format jsonl --explain -k 12
        done
        models=(bm25 dirichlet) # each of the others in one number of shards
        same "mill grain" -k all --format jsonl --total
        same '"river grinds" salt' --format jsonl
        same '+mill -grain rare*' --format jsonl
        same 'title:mill AND (rare1 OR "all who"~4)' --format jsonl --explain
        same '*' --filter 'price < 4' -k all --format jsonl
        same 'mill' --filter 'price IN (1, 2)' --count
        same --filter 'price = 8' --format jsonl --total
        same 'mill by a river' --dependence sdm --format jsonl --explain
        same 'mill by a river' --model ql --order 3 --format jsonl --explain
        same --topics topics.tsv --syntax auto --format jsonl --threads 3 --explain
        same 'miil grian rare' --format jsonl --explain --typos 1 --total
        same 'rivr~1 tenht' --format jsonl --explain
        same 'the gra' --prefix-last --format jsonl --fold accents
        same 'mill' --sort -price --format jsonl -k 7
        same 'mill river' --facets price --sort price --format jsonl
        allow_none=1 same 'absent'
    done
}

@test "the messages are those of one store" {
    parts 3
    for query in 'mil' 'rare5 gran' '"grain grain grain"'; do
        quern search whole "$query" >/dev/null 2>expected || [ $? -eq 1 ]
        quern search apart "$query" >/dev/null 2>found || [ $? -eq 1 ]
        diff -u expected found
    done
    grep -q 'did you mean' <(quern search apart mil 2>&1 >/dev/null || true)
}

@test "a sharded store shows its shards, and is verified" {
    parts 2
    ends_with 0 quern info apart --format tsv
    [[ $output == *$'kind\tshards\n'*$'documents\t120\n'*$'shards\t2\n'*shard.1.checksum* ]]
    quern info whole --format tsv | grep '^vocabulary' >expected
    quern info apart --format tsv | grep '^vocabulary' | diff expected -
    ends_with 0 quern verify apart
    ends_with 0 quern merge part-* -o apart --sharded --force --stats stats.json
    [[ $stderr == *"120 documents in 2 shards"* ]]
    [ "$(json stats.json "d['counts']['shards']")" = 2 ]
    ls -A apart >files
    [ "$(cat files)" = shards.json ]
}

@test "missing, changed and damaged shards are refused with what to do" {
    parts 3
    mv part-1 away
    refused "apart: its shard part-1 is missing" search apart mill
    mkdir moved && mv apart part-0 part-2 moved && mv away moved/part-1
    ends_with 0 quern search moved/apart mill
    mv moved/* .
    quern build day1.jsonl -o part-1 --skip all --force --stem porter --quiet
    refused "apart: its shard part-1 was changed" search apart mill
    says "write the sharded store again (quern merge STORE... --sharded -o apart --force)"
    ends_with 2 quern verify apart
    ends_with 2 quern merge part-* -o apart --sharded --force
    says "--stem is none in the first, porter in the second"
    quern build day1.jsonl -o part-1 --skip all --force --keep-fields all --quiet
    ends_with 0 quern search apart mill
    printf x | dd of=part-2/postings.section bs=1 seek=9 conv=notrunc status=none
    ends_with 5 quern verify apart
    says "postings"
    printf '{}' >apart/shards.json
    ends_with 5 quern search apart mill
}

@test "counts of n-grams are those of one store" {
    parts 3
    for words in mill "by a river" "rare3 absent" "grain of"; do
        quern count whole "$words" >expected || [ $? -eq 1 ]
        quern count apart "$words" >found || [ $? -eq 1 ]
        diff -u expected found
    done
    [ -s found ]
}

@test "what needs one store is refused by name" {
    parts 2
    refused "link ranks (prior), which needs one store (quern merge makes one)" search apart mill --prior 0.1
    refused "a thesaurus (expand)" search apart mill --expand 3
    refused "vectors of documents (like)" search apart --like d1
    refused "feedback" search apart mill --feedback rm3
    refused "weights of fields" search apart mill --field-weights title=3
    refused "words after a history" search apart mill --model ql --order 2 --order-model history
    for command in "export apart --ciff x" "merge apart part-0 -o x" "words apart -o x" \
        "build apart -o x" "merge part-0 apart -o x --sharded"; do
        # shellcheck disable=SC2086 # words of a command
        ends_with 2 quern $command
        [[ $stderr == *"sharded store"* || $stderr == *"is not a corpus"* ]]
        [ ! -e x ]
    done
    refused "--skip has no effect with --sharded" merge part-0 part-1 -o x --sharded --skip all
    refused "is not a sharded store, and is not replaced" merge part-0 -o part-1 --sharded --force
    refused "apart exists; --force replaces it" merge part-0 -o apart --sharded
    build day1.jsonl copy --keep-fields all
    ends_with 2 quern merge part-0 part-1 copy -o x --sharded
    [[ $stderr == *"ids are in more than one store"* ]]
    [ ! -e x ]
}

@test "real text: shards of an encyclopedia give the bytes of one store" {
    local corpus=${QUERN_DATA:-}/wikischools.jsonl.zst
    [ -e "$corpus" ] || skip "set QUERN_DATA to a folder of real data"
    zstd -dcq "$corpus" >whole.jsonl
    build whole.jsonl whole
    python3 - <<'END'
import random
rng, seen = random.Random(2), {}
for line in open("whole.jsonl"):
    for word in rng.sample(line.split(), min(3, len(line.split()))):
        if word.isalpha(): seen[word.lower()] = None
words = list(seen)
rng.shuffle(words)
with open("topics.tsv", "w") as out:
    for i in range(150): print(f"{i}\t{' '.join(words[4 * i : 4 * i + 1 + i % 4])}", file=out)
END
    for shards in 2 5; do
        rm -rf part-* apart
        split -n "l/$shards" -d --additional-suffix=.jsonl whole.jsonl part-
        for part in part-*.jsonl; do build "$part" "${part%.jsonl}.store"; done
        quern merge part-*.store -o apart --sharded --quiet
        for model in bm25 ql dirichlet two-stage pl2; do
            same --topics topics.tsv -k 200 --model "$model"
        done
        same 'theory of "general relativity" physics' -k 50 --format jsonl --explain
        same '+war -world "civil war"~5 soldier*' -k 50 --format jsonl --total
        same --topics topics.tsv -k 20 --dependence sdm --model dirichlet
    done
}
