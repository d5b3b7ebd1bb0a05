#!/usr/bin/env bats
# shellcheck disable=SC2154 # bats sets $stderr and $output
# Several stores as one: the same bytes as a build of all documents, what is refused, and that nothing half-written is left.
load common

days() { # three files of documents that link to each other; the last has a near-duplicate of the first's
    python3 - <<'END'
import json, random
rng = random.Random(3)
words = "the mill by a river grinds grain of all who come and takes one tenth for its own salt from seas".split()
for day in range(3):
    with open(f"day{day}.jsonl", "w") as out:
        for i in range(60):
            number = 60 * day + i
            text = " ".join(rng.choice(words) for _ in range(12 + number % 40))
            if number == 150: text = first + "!"
            if number == 3: first = text
            print(json.dumps({"id": f"d{number}", "title": f"Title {number % 17}", "text": text,
                              "links": [f"d{(number * 7) % 200}"], "price": number % 9}), file=out)
END
}

# same_bytes A B: two stores hold the same, but for what a run costs.
same_bytes() { diff -r -x stats.json "$1" "$2"; }

parts() { # parts OPTION...: a store of each day, with all its documents
    for day in 0 1 2; do quern build "day$day.jsonl" -o "part$day" --skip all --quiet "$@"; done
}

@test "a merge gives the bytes of a build of all corpora" {
    days
    parts --keep-fields all
    quern build day0.jsonl day1.jsonl day2.jsonl -o built --keep-fields all --quiet
    ends_with 0 quern merge part0 part1 part2 -o merged
    [[ $stderr == *"documents from 3 stores, "*"1 near-duplicate excluded"* ]]
    same_bytes built merged
    quern verify merged
    quern build day0.jsonl day1.jsonl day2.jsonl -o plain --skip all --keep-fields all --quiet
    for threads in 1 3; do
        quern merge part0 part1 part2 -o plain_merged --skip all --force --quiet --threads "$threads" --memory 64M --stats stats.json
        same_bytes plain plain_merged
    done
    grep -q '"copied_text_blocks"' stats.json
}

@test "a merge that excludes many documents gives a warning" {
    rows() { # rows FIRST LAST: of products with almost the same description
        seq "$1" "$2" | awk 'BEGIN { print "id,title,text" }
            { printf "%d,Mill of granite,A hand mill of granite for wheat and rye with a wooden handle. Number %d.\n", $1, $1 }'
    }
    rows 1 5 >a.csv && rows 6 10 >b.csv && { rows 11 12 && echo "99,Sack,Linen and jute"; } >c.csv
    for part in a b c; do quern build $part.csv -o $part --skip all --quiet; done
    ends_with 0 quern merge a b -o all --quiet
    says "warning: 9 of 10 documents are excluded as near-duplicates of others (edit rate below 0.05); a merge with --skip duplicates keeps them"
    ends_with 0 quern merge all c -o more --quiet
    says "warning: 2 of 3 documents"
    ends_with 0 quern merge a b -o kept --skip duplicates --quiet
    [ "$stderr" = "" ]
}

@test "a store grows every night by the documents of the day" {
    days
    quern build day0.jsonl -o all --ngrams --quiet
    for day in 1 2; do
        quern build "day$day.jsonl" -o today --skip all --force --quiet
        quern merge all today -o all --force --ngrams --quiet
    done
    quern build day0.jsonl day1.jsonl day2.jsonl -o built --ngrams --quiet
    same_bytes built all
}

@test "what cannot be merged is refused with the reason, and leaves nothing" {
    days
    parts
    quern build day1.jsonl -o stemmed --skip all --stem porter --quiet
    ends_with 2 quern merge part0 stemmed -o merged
    says "part0 and stemmed cannot be merged: --stem is none in the first, porter in the second"
    cp -r part0 again
    ends_with 2 quern merge part0 part1 again -o merged
    says '60 ids are in more than one store: for example "d0" is in both part0 and again'
    ends_with 2 quern merge part0 part0 -o merged
    says "part0 is given twice"
    ends_with 2 quern merge part0 missing -o merged
    says "missing: no such store"
    ends_with 2 quern merge part0 day1.jsonl -o merged
    says "day1.jsonl: not a store"
    ends_with 2 quern merge part0 part1 -o part0/inside
    ends_with 2 quern merge part0 part1
    ends_with 2 quern merge -o merged
    ends_with 2 quern merge part0 part1 -o merged --skip index
    says "invalid value 'index'"
    [ ! -e merged ]
    quern build day2.jsonl day0.jsonl -o copies --quiet
    ends_with 2 quern merge part1 copies -o merged
    says "copies excluded 1 near-duplicate, whose texts it does not have"
    ends_with 2 quern merge copies part1 -o merged --skip duplicates
    says "merge without --skip duplicates"
    [ ! -e merged ]
    quern merge part0 part1 -o merged --skip all --quiet
    ends_with 2 quern merge part0 part1 -o merged --skip all
    says "merged exists"
    rm part1/store.json
    ends_with 2 quern merge part0 part1 -o merged --skip all --force
    quern verify merged
    [ -z "$(find . -maxdepth 1 -name '.*quern*')" ]
}

@test "a merge that is killed leaves the older store or the new one" {
    days
    parts
    quern build day0.jsonl -o merged --quiet
    cp -r merged before
    quern build day0.jsonl day1.jsonl day2.jsonl -o built --quiet
    for delay in 0.01 0.03 0.06 0.1 0.2; do
        rm -rf merged && cp -r before merged
        "$QUERN" merge part0 part1 part2 -o merged --force --quiet &
        local merging=$!
        sleep "$delay"
        kill -9 "$merging" || true
        wait "$merging" || true
        same_bytes before merged || same_bytes built merged
    done
    quern merge part0 part1 part2 -o merged --force --quiet
    same_bytes built merged
    [ -z "$(find . -maxdepth 1 -name '.merged.quern-*' -type d)" ]
}

@test "a merge stays within --memory" {
    python3 - <<'END'
import json, random
rng = random.Random(5)
for part in range(2):
    with open(f"large{part}.jsonl", "w") as out:
        for i in range(6000):
            text = " ".join("w%d" % int(rng.paretovariate(0.6)) for _ in range(700))
            print(json.dumps({"id": f"{part}-{i}", "text": text}), file=out)
END
    for part in 0 1; do quern build "large$part.jsonl" -o "part$part" --skip all --quiet; done
    quern build large0.jsonl large1.jsonl -o built --skip all --quiet
    within 64M 0 merge part0 part1 -o merged --skip all --quiet
    same_bytes built merged
}
