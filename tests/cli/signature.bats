#!/usr/bin/env bats
# shellcheck disable=SC2154 # common sets $data
# quern signature: rows, in order, in every form.
load common

@test "id, B and two signatures a document, in the order of the corpus" {
    quern signature "$data/corpus.jsonl" --quiet --max-errors 100% >rows
    quern dedup "$data/corpus.jsonl" --quiet --max-errors 100% -o kept.jsonl --threshold 0.000000001
    [ "$(awk -F '\t' 'NF != 4' rows)" = "" ]
    [ "$(wc -l <rows)" -ge "$(wc -l <kept.jsonl)" ]
    # B is a power of two, signatures have at most 100 letters, and the second is never the longer one.
    awk -F '\t' '{ b = $2; while (b % 2 == 0) b /= 2; if (b != 1 || length($3) > 100 || length($4) > length($3)) exit 1 }' rows
    grep -qE '^[A-Za-z0-9+/]*$' <(cut -f 3 rows)
}

@test "a shorter signature has a larger B" {
    seq 1 2000 | tr '\n' ' ' | awk '{ printf "{\"id\":\"n\",\"text\":\"%s\"}\n", $0 }' >numbers.jsonl
    read -r _ long_b long _ <<<"$(quern signature numbers.jsonl --quiet)"
    read -r _ short_b short _ <<<"$(quern signature numbers.jsonl --quiet --signature-length 10)"
    [ "${#long}" -gt 10 ]
    [ "${#short}" -le 10 ]
    [ "$short_b" -gt "$long_b" ]
    [ "$(quern signature numbers.jsonl --quiet --threads 1)" = "$(quern signature numbers.jsonl --quiet --threads 3)" ]
}

@test "JSON lines, a file, an empty text" {
    echo '{"id":"x","text":""}' >empty.jsonl
    [ "$(quern signature empty.jsonl --quiet --format jsonl)" = '{"id":"x","B":1,"signature":"","signature_at_2B":""}' ]
    quern signature empty.jsonl --quiet -o rows
    [ "$(cat rows)" = $'x\t1\t\t' ]
    ends_with 2 quern signature empty.jsonl -o rows
    ends_with 2 quern signature empty.jsonl --signature-length 0
    ends_with 2 quern signature empty.jsonl --device cuda
    ends_with 2 quern signature
    ends_with 3 quern signature <(echo nonsense) --input-format jsonl
    quern dedup empty.jsonl --store seen --quiet
    ends_with 2 quern signature seen
    says "was made by quern and is not a corpus"
}
