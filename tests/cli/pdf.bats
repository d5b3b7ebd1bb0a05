#!/usr/bin/env bats
# shellcheck disable=SC2154 # common and bats set $stderr
# PDF files through the pdftotext of this machine: what documents.bats shows with a program in its place.
load common

own_setup() {
    command -v pdftotext >/dev/null || skip "no pdftotext on this machine (poppler-utils)"
}

pdfs() { python3 "$BATS_TEST_DIRNAME/make_pdf.py" "$@"; } # pdfs FOLDER NAME...

# member FILE NAME MEMBER: of the line of JSON with the id NAME.
member() { python3 -c 'import json,sys
for line in open(sys.argv[1]):
    d = json.loads(line)
    if d["id"] == sys.argv[2]: print(d.get(sys.argv[3], ""))' "$@"; }

@test "titles, text, pages, words that a line end divides" {
    pdfs docs whole.pdf nameless.pdf open.pdf
    gzip -n -c docs/whole.pdf >docs/packed.pdf.gz
    ends_with 0 quern dedup docs -o kept.jsonl --threshold 0.000001 --rule connected --groups groups.tsv
    grep -q $'\tpacked.pdf.gz\t1' groups.tsv
    grep -q $'\twhole.pdf\t0' groups.tsv
    [ "$(member kept.jsonl packed.pdf.gz title)" = "On <mills> & tolls" ]
    member kept.jsonl packed.pdf.gz text >shown
    grep -qx 'The miller grinds barley (and rye) & <oats>.' shown
    grep -q 'Café – the stones are dressed every week' <(tr -d '\n' <shown)
    [ "$(tail -n 2 shown)" = $'\nThe third page has the toll.' ]
    [ "$(member kept.jsonl nameless.pdf title)" = nameless.pdf ]
    [ "$(member kept.jsonl open.pdf title)" = "Open to all" ] # encrypted with no password
    quern build docs -o store --skip all --quiet
    [ "$(quern search store toll --quiet | cut -f 2 | sort | tr '\n' ' ')" = "packed.pdf.gz whole.pdf " ]
    quern search store barley --format jsonl --quiet | grep -q '"title":"Open to all"'
}

@test "files that cannot be read are counted with the reason, and are no error" {
    pdfs docs locked.pdf noise.pdf pictures.pdf empty.pdf cut.pdf loop.pdf
    printf 'a page of text\n' >docs/page.txt
    ends_with 0 quern build docs -o store --skip all
    [[ $stderr == *".pdf (encrypted)"* ]]
    [[ $stderr == *".pdf (damaged)"* ]]
    [[ $stderr == *".pdf (without text)"* ]]
    [ "$(quern search store page --quiet | cut -f 2 | head -n 1)" = page.txt ]
    ends_with 3 quern build docs/locked.pdf -o named
    [[ $stderr == *"locked.pdf: encrypted"* ]]
    ends_with 3 quern build docs/noise.pdf -o named
    [[ $stderr == *"noise.pdf: damaged: pdftotext says: "* ]]
    ends_with 3 quern build docs/pictures.pdf -o named
    [[ $stderr == *"pictures.pdf: no text: its pages may be pictures"* ]]
    [ ! -e named ]
}

@test "a page that grows without end ends within time and memory" {
    [ -n "${QUERN_LONG:-}" ] || skip "up to a minute; QUERN_LONG=1 runs it"
    pdfs docs bomb.pdf
    [ "$(stat -c %s docs/bomb.pdf)" -lt 2000000 ]
    printf 'a page of text\n' >docs/page.txt
    within 256M 0 quern build docs -o store --skip all
    [[ $stderr == *"1 .pdf ("* ]]
}
