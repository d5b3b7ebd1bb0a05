#!/usr/bin/env bats
# quern export of a store: the Common Index File Format, a language model, the graph. (Of a space: words.bats.)
load common

own_setup() {
    printf '{"id":"a","title":"First","text":"Red apples, red pears."}\n{"id":"b","text":"A red car"}\n' >corpus.jsonl
    build corpus.jsonl store
}

# read_ciff FILE: word, then document:frequency of each posting; then the documents. A parser for this test alone.
read_ciff() {
    python3 - "$1" <<'PY'
import gzip, sys
data = (gzip.open if sys.argv[1].endswith(".gz") else open)(sys.argv[1], "rb").read()
at = 0
def varint():
    global at
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value
def message():
    global at
    size = varint()
    end, fields = at + size, {}
    while at < end:
        key = varint()
        if key & 7 == 0:
            value = varint()
        elif key & 7 == 1:
            value, at = data[at:at + 8], at + 8
        else:
            size = varint()
            value, at = data[at:at + size], at + size
        fields.setdefault(key >> 3, []).append(value)
    assert at == end
    return fields
header = message()
for _ in range(header[2][0]):
    fields, document = message(), 0
    outer, rest = data, at
    postings = []
    for bytes_of_posting in fields[4]:
        data, at = bytes([len(bytes_of_posting)]) + bytes_of_posting, 0
        posting = message()
        document += posting.get(1, [0])[0]
        postings.append(f"{document}:{posting[2][0]}")
    data, at = outer, rest
    print(fields[1][0].decode(), fields[2][0], fields[3][0], *postings)
for _ in range(header[3][0]):
    fields = message()
    print(fields.get(1, [0])[0], fields[2][0].decode(), fields.get(3, [0])[0])
assert at == len(data)
PY
}

@test "a store is exported with every word, posting and document" {
    quern export store --ciff index.ciff --quiet --stats stats
    [ "$(read_ciff index.ciff)" = "a 1 1 1:1
apples 1 1 0:1
car 1 1 1:1
first 1 1 0:1
pears 1 1 0:1
red 2 3 0:2 1:1
0 a 5
1 b 3" ]
    [ "$(json stats 'd["counts"]["words"], d["counts"]["postings"], d["counts"]["documents"]')" = "(6, 7, 2)" ]
    [ "$(json stats 'd["counts"]["ciff_bytes"]')" -eq "$(wc -c <index.ciff)" ]
    grep -qa "tokens unicode" index.ciff
}

@test "compressed if the name ends accordingly, and to standard output" {
    quern export store --ciff index.ciff --quiet
    quern export store --ciff index.ciff.gz --quiet --threads 3
    gzip -dc index.ciff.gz | cmp - index.ciff
    quern export store --ciff - --quiet | cmp - index.ciff
}

@test "a model of the store equals that of its documents with their titles" {
    quern export store --arpa model --order 2 --smoothing absolute --quiet --stats stats
    quern ngrams corpus.jsonl --titles --arpa expected --order 2 --smoothing absolute --quiet
    cmp model expected
    quern ngrams corpus.jsonl --arpa texts --order 2 --smoothing absolute --quiet
    [ "$(head -n 3 texts)" != "$(head -n 3 expected)" ]
    [ "$(json stats 'd["counts"]["arpa_bytes"]')" -eq "$(wc -c <model)" ]
    quern export store --arpa model.gz --order 2 --smoothing absolute --quiet
    gzip -dc model.gz | cmp - expected
    ends_with 2 quern export store --arpa other --order 0
    ends_with 2 quern export store --arpa other --lambda 2
    [ ! -e other ]
}

@test "the links of a store are a graph that pagerank reads" {
    printf '{"id":"a b","text":"x","links":["c","d"]}\n{"id":"c","text":"y","links":["a b"]}\n{"id":"d","text":"z","links":["c","c"]}\n' >linked.jsonl
    build linked.jsonl web
    [ "$(quern export web --graph - --quiet | tr '\t\n' '> ')" = "a b>c a b>d c>a b d>c d>c " ]
    quern export web --graph graph.tsv.gz --ciff web.ciff --quiet
    [ -s web.ciff ]
    quern pagerank web --quiet >expected
    quern pagerank graph.tsv.gz --quiet | cmp - expected
    printf '{"id":"1 2","text":"x","links":["c"]}\n{"id":"c","text":"y"}\n' >odd.jsonl
    build odd.jsonl odd
    ends_with 3 quern export odd --graph odd.tsv
    says "has the id '1 2'"
    [ ! -e odd.tsv ]
}

@test "a complete output or none" {
    quern export store --ciff index.ciff --quiet
    ends_with 2 quern export store --ciff index.ciff
    cp -r store damaged
    printf x | dd of=damaged/postings.section bs=1 conv=notrunc status=none
    mkdir out
    ends_with 5 quern export damaged --ciff out/index.ciff
    says postings
    nothing_left out
    ends_with 5 quern export damaged --ciff index.ciff.gz --force
    [ ! -e index.ciff.gz ]
    quern export store --ciff index.ciff --quiet --force
    ends_with 2 quern export store --ciff store/index.ciff
    [ ! -e store/index.ciff ]
}

@test "each kind of folder accepts its own options" {
    ends_with 2 quern export store
    says "nothing to export"
    ends_with 2 quern export store --words b.tsv
    says "is a store of documents"
    ends_with 2 quern export store --ciff a --order 2
    says "require --arpa"
    ends_with 2 quern export store --ciff a --arpa a
    ends_with 2 quern export missing --ciff a
    says "no such store"
    ends_with 2 quern export corpus.jsonl --ciff a
    says "not a store"
    printf 'red\ncar\n\nred\nbus\n' >lines
    quern words lines -o space --input-format lines --min-count 1 --quiet
    ends_with 2 quern export space --ciff a
    says "is a word space"
    ends_with 2 quern export store --vectors a.txt
    says "--vectors: wrong file name (expected the ending .npy"
    printf '{"id":"a","text":"two words"}\n' >few.jsonl
    for skip in "" "--skip vectors" "--skip thesaurus"; do
        # shellcheck disable=SC2086 # an option and its value, or nothing
        quern build few.jsonl -o few --force --quiet $skip
        ends_with 2 quern export few --vectors a.npy
        case $skip in
            *vectors) says "it was built without them" ;;
            *thesaurus) says "it was built without a thesaurus" ;;
            *) says "its words are too few, or too rare, for a thesaurus" ;;
        esac
    done
    ends_with 2 quern export space --documents a
    says "is a word space"
    ends_with 2 quern export space --arpa a
    says "is a word space"
    ends_with 2 quern export store --ciff a --device cuda
    [ ! -e a ]
}
