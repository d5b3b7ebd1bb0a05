#!/usr/bin/env bats
# quern build of an index (CIFF) and of learned weights: stores without texts.
load common

@test "an index of a store gives the same run, and says what it cannot do" {
    build "$data/corpus.jsonl" store
    quern export store --ciff store.ciff.gz --quiet
    ends_with 0 quern build store.ciff.gz -o other --quiet
    for options in "--model bm25" "--model lucene" "--model dirichlet" "--model pl2" "--feedback rm3"; do
        # shellcheck disable=SC2086 # an option and its value
        quern search store --topics "$data/topics.tsv" --run one.run --force --quiet $options
        # shellcheck disable=SC2086
        quern search other --topics "$data/topics.tsv" --run two.run --force --quiet $options
        cmp one.run two.run
    done
    [ "$(quern info other | grep -c '^listed	counts$')" -eq 1 ]
    quern verify other --quiet
    # The words, and without a text no snippets.
    quern search store "apple bees" -k 3 --format jsonl --title-weight 0 >one
    quern search other "apple bees" -k 3 --format jsonl --title-weight 0 >two
    python3 - one two <<'PY'
import json, sys
one, two = ([json.loads(line) for line in open(name)] for name in sys.argv[1:])
assert one and [(hit["id"], hit["score"]) for hit in one] == [(hit["id"], hit["score"]) for hit in two]
assert all(hit["snippet"] == "" for hit in two)
PY
    # And the same index again.
    quern export store --ciff one.ciff --quiet
    quern export other --ciff two.ciff --quiet
    cmp one.ciff two.ciff
    refused "phrases need" search other '"apple trees"'
    refused "pairs of words need" search other "apple bees" --dependence sdm
    refused "counts of n-grams need" count other apple
    refused "n-grams need" export other --arpa x.arpa
    ends_with 3 quern words store.ciff.gz -o space --quiet
    says "only quern build and search read it"
}

@test "an index is analysed as its words are" {
    printf '{"id":"a","text":"running mills"}\n{"id":"b","text":"a mill runs"}\n' >corpus.jsonl
    build corpus.jsonl store --stem porter
    quern export store --ciff store.ciff --quiet
    quern build store.ciff -o stemmed --stem porter --quiet
    [ "$(quern search stemmed Running --quiet | cut -f 2 | tr '\n' ' ')" = "a b " ]
    quern build store.ciff -o verbatim --tokens blanks --quiet
    ends_with 1 quern search verbatim Running --quiet
    [ "$(quern search verbatim run --quiet | cut -f 2 | tr '\n' ' ')" = "a b " ]
}

@test "an index is updated by documents of another, and only by such" {
    printf '{"id":"a","text":"one mill"}\n' >a.jsonl
    printf '{"id":"b","text":"two mills"}\n' >b.jsonl
    cat a.jsonl b.jsonl >both.jsonl
    for name in a b both; do
        build $name.jsonl $name
        quern export $name --ciff $name.ciff --quiet
    done
    quern build a.ciff -o store --quiet
    quern build b.ciff -o store --update --quiet
    quern export store --ciff again.ciff --quiet
    cmp both.ciff again.ciff
    refused "lists of words and other documents" build b.jsonl -o store --update --quiet
    refused "lists of words and other documents" build a.ciff b.jsonl -o other --quiet
    [ ! -e other ]
}

@test "a damaged index is refused with the byte and the message, and leaves nothing" {
    build "$data/corpus.jsonl" store
    quern export store --ciff store.ciff --quiet
    mkdir out
    size=$(wc -c <store.ciff)
    for bytes in 60 200 $((size - 1)); do
        head -c "$bytes" store.ciff >cut.ciff
        ends_with 3 quern build cut.ciff -o out/store --quiet --input-format ciff
        says "byte $bytes, "
        says "is it cut off?"
        nothing_left out
    done
    { cat store.ciff; printf x; } >more.ciff
    ends_with 3 quern build more.ciff -o out/store --quiet
    says "bytes follow the last document record"
    nothing_left out
    head -c 3000 /dev/urandom >noise.ciff
    ends_with 3 quern build noise.ciff -o out/store --quiet --input-format ciff
    nothing_left out
}

weights() { # three documents with weights, and topics
    cat >passages.jsonl <<'END'
{"id":"p1","contents":"not read","title":"First","vector":{"mill":2.25,"grain":1.5,"##ing":0.125},"lang":"en"}
{"id":"p2","vector":{"mill":0.5,"river":3},"lang":"de"}
{"id":"p3","indices":["river","grain",7],"values":[1,0.75,0],"lang":"en"}
END
}

@test "learned weights are ranked by inner products" {
    weights
    quern build passages.jsonl -o passages --keep-fields lang --quiet
    quern verify passages --quiet
    [ "$(quern search passages 'mill^0.5 grain^2' --quiet | cut -f 2,3 | tr '\t\n' '= ')" = "p1=4.125 p3=1.5 p2=0.25 " ]
    [ "$(quern search passages 'grain mill mill' --quiet --model impact | cut -f 2,3 | tr '\t\n' '= ')" = "p1=6 p2=1 p3=0.75 " ]
    [ "$(quern search passages 'river' --filter 'lang = en' --quiet | cut -f 2)" = p3 ]
    [ "$(quern search passages "##ing" --quiet | cut -f 2,4)" = "p1	First" ]
    printf '{"id":"q1","vector":{"mill":1,"river":0.5}}\n{"id":"q2","text":"x","vector":{"grain":2}}\n' >topics.jsonl
    quern search passages --topics topics.jsonl --run json.run --quiet
    printf 'q1\tmill^1 river^0.5\nq2\tgrain grain\n' >topics.tsv
    quern search passages --topics topics.tsv --run tsv.run --quiet
    cmp json.run tsv.run
    [ "$(cut -d ' ' -f 1,3,5 json.run | tr ' \n' '= ')" = "q1=p1=2.25 q1=p2=2 q1=p3=0.5 q2=p1=3 q2=p3=1.5 " ]
    refused "it is ranked by the model impact only" search passages mill --model ql
    refused "passages is a store of weights, without counts of words; it is ranked by the model impact only" \
        search passages mill --model bm25
    printf '1\tmill\n' >one.tsv
    refused "it is ranked by the model impact only" search passages --topics one.tsv --model bm25
    refused "which feedback needs" search passages mill --feedback rm3
    refused "must be a number of at least 0" search passages 'mill^-1'
    build "$data/corpus.jsonl" texts
    refused "the model impact needs a store of weights" search texts mill --model impact
}

@test "a store of weights is served" {
    weights
    quern build passages.jsonl -o passages --quiet
    "$QUERN" serve passages --port 0 >address 2>&1 3>&- &
    local server=$! tries
    for ((tries = 0; tries < 100; ++tries)); do
        if grep -q http address; then break; fi
        sleep 0.1
    done
    python3 - "$(grep -o 'http://[^ ]*' address | head -n 1)" <<'PY'
import json, sys, urllib.error, urllib.request
with urllib.request.urlopen(sys.argv[1].rstrip("/") + "/api/search?q=mill%5E0.5") as reply:
    hits = json.load(reply)["hits"]
assert [(hit["id"], hit["score"]) for hit in hits] == [("p1", 1.125), ("p2", 0.25)], hits
with urllib.request.urlopen(sys.argv[1].rstrip("/") + "/api/options") as reply:
    model = next(option for option in json.load(reply)["options"] if option["name"] == "model")
assert model["schema"]["default"] == "impact" and [choice["value"] for choice in model["choices"]] == ["impact"], model
try:
    urllib.request.urlopen(sys.argv[1].rstrip("/") + "/api/search?q=mill&model=bm25")
    raise SystemExit("bm25 was not refused")
except urllib.error.HTTPError as error:
    assert error.code == 400 and "ranked by impact only" in json.load(error)["detail"], error
PY
    kill "$server"
}

@test "weights follow their file, and stay apart from texts" {
    weights
    head -n 2 passages.jsonl >some.jsonl
    quern build some.jsonl -o store --sync --quiet
    tail -n 1 passages.jsonl >>some.jsonl
    quern build some.jsonl -o store --sync --quiet
    quern build passages.jsonl -o fresh --quiet
    for section in fresh/*.section; do cmp "$section" "store/${section#fresh/}"; done
    tail -n 1 passages.jsonl | sed 's/p3/p4/' | quern build - --input-format weights -o store --update --quiet
    [ "$(quern search store grain --quiet | cut -f 2 | tr '\n' ' ')" = "p1 p3 p4 " ]
    refused "lists of words and other documents" build "$data/corpus.jsonl" -o store --update --quiet
    ends_with 3 quern dedup passages.jsonl --quiet
    says "only quern build and search read it"
    [ "$(quern search passages.jsonl river --quiet | cut -f 2 | tr '\n' ' ')" = "p2 p3 " ]
}
