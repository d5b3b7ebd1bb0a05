#!/usr/bin/env bats
# shellcheck disable=SC2154 # bats sets $output, $stderr
# Fields of records that are searched: quern build --index-fields.
load common

own_setup() {
    cat >papers.jsonl <<'JSON'
{"id":"a","title":"Stones","text":"Of mills and stones.","summary":"How grain is ground.","tags":["hand mill","stone age"],"year":1990}
{"id":"b","title":"Grain","text":"Grain, and more grain.","summary":"A list of the age of stones.","tags":"water"}
{"id":"c","title":"Water","text":"A mill by the river.","tags":["mill","stone"],"year":2001}
JSON
    quern build papers.jsonl -o papers --keep-fields year --index-fields summary,tags --skip all --quiet
}

ids() { # ids OPTION...: of the documents found, in order
    quern search papers "$@" --format tsv --quiet | cut -f 2 | tr '\n' ' '
}

damage() { # damage FILE: changes its first byte
    printf '\377' | dd of="$1" bs=1 conv=notrunc status=none
}

@test "operators, phrases and filters" {
    [ "$(ids summary:grain)" = "a " ]
    [ "$(ids '+mill -tags:mill' --filter 'year EXISTS')" = "" ]
    [ "$(ids 'tags:"mill stone"')" = "" ]
    [ "$(ids 'tags:"stone age" OR tags:wat*' --sort -year)" = "a b " ]
    [ "$(ids 'text:"stones how"')" = "" ]
    [ "$(ids '"stones how"')" = "a " ]
    [ "$(ids tags:mill --filter 'year < 2000')" = "a " ]
    [ "$(quern search papers tags:mill --count)" = 2 ]
    ends_with 1 quern search papers summary:water
    ends_with 2 quern search papers sumary:water --syntax operators
    [[ $stderr == *"there is no field 'sumary' (expected title, summary, tags or text)"* ]]
}

@test "weights" {
    [ "$(ids grain --field-weights summary=50 -k all)" = "a b " ]
    [ "$(ids grain --field-weights summary=0.01 -k all)" = "b a " ]
    quern search papers 'grain stone' --field-weights summary=3 --field-b tags=0 --explain --format jsonl --quiet >hits
    python3 - <<'END'
import json
hits = [json.loads(line) for line in open("hits")]
for hit in hits:
    assert sum(term["score"] for term in hit["explanation"]) == hit["score"], hit
first = {term["term"]: term for term in next(hit for hit in hits if hit["id"] == "a")["explanation"]}
assert list(first) == ["grain", "summary:grain", "stone", "tags:stone"], first
assert first["grain"]["part"] == first["grain"]["title_part"] == 0 < first["summary:grain"]["part"], first
END
    quern search papers grain --field-weights summary=50 --explain --format table --quiet | grep -q '  summary:grain '
    run ! grep -q summary: <(quern search papers grain --explain --format jsonl --quiet)
    printf '1\tgrain\n' >topics
    quern search papers --topics topics --field-weights summary=50 --device cpu --quiet | cut -d ' ' -f 3 | tr '\n' ' ' >run
    [ "$(cat run)" = "a b " ]
    ends_with 2 quern search papers grain --field-weights abstract=2
    says "unknown field 'abstract' (expected title, summary, tags or text)"
}

@test "info and verify" {
    quern info papers --format tsv | grep -E '^(kept|indexed)_fields' | diff - <(printf 'kept_fields\tyear,summary,tags\nindexed_fields\tsummary,tags\n')
    quern verify papers --quiet
    damage papers/field_words_1_postings.section
    ends_with 5 quern verify papers
    says field_words_1_postings
}

@test "names that do not fit" {
    ends_with 2 quern build papers.jsonl -o other --index-fields title
    says "index_fields: 'title' is the name of a part that every document has"
    ends_with 2 quern build papers.jsonl -o other --index-fields tags,tags
    says "index_fields: 'tags' is given twice"
    ends_with 2 quern build papers.jsonl -o other --text-field summary --index-fields summary
    says "index_fields: 'summary' is searched as the title or text already"
    ends_with 3 quern build papers.jsonl -o other --index-fields sumary
    says 'no record has a field "sumary" (--index-fields)'
    [ ! -e other ]
    ends_with 3 quern build papers.jsonl -o other --index-fields tags,sumary --keep-fields year --skip all
    says 'no record has a field "sumary" (--index-fields)'
    ends_with 3 quern build papers.jsonl -o other --index-fields tags --keep-fields yaer
    says 'no record has a field "yaer" (--keep-fields)'
    sed -E 's/"year":([0-9]+)/"year":{"of":\1}/' papers.jsonl >objects.jsonl
    quern build objects.jsonl -o other --index-fields year --skip all 2>said
    grep -q "the indexed field 'year' has no words in any document" said
}

@test "a store without them has the bytes that it had" {
    quern build papers.jsonl -o plain --keep-fields all --skip all --quiet
    quern info plain --format tsv >said
    run ! grep -q -e indexed_fields -e field_words said

    run ! grep -q indexed plain/store.json
}

@test "CSV, TSV with a heading and Markdown" {
    printf 'id,text,summary,year\n1,of mills,"the grain, ground",1984\n2,of grain,stones,\n' >papers.csv
    quern build papers.csv -o csv --index-fields summary,year --skip all --quiet
    [ "$(quern search csv summary:grain --quiet | cut -f 2)" = 1 ]
    [ "$(quern search csv year:1984 --quiet | cut -f 2)" = 1 ]
    printf 'id\ttext\tsummary\n1\tof mills\tgrain\n' >papers.tsv
    quern build papers.tsv -o tsv --index-fields summary --skip all --quiet
    [ "$(quern search tsv summary:grain --quiet | cut -f 2)" = 1 ]
    mkdir notes
    printf -- '---\ntitle: Mills\ntags: [hand mill, stone]\n---\nText of a.\n' >notes/a.md
    printf -- '---\ntags:\n  - stone\n---\nThe mill.\n' >notes/b.md
    quern build notes -o md --index-fields tags --skip all --quiet
    [ "$(quern search md 'tags:"hand mill"' --quiet | cut -f 2)" = a.md ]
    [ "$(quern search md '+tags:stone -tags:mill' --quiet | cut -f 2)" = b.md ]
}

many() { # many FIRST LAST
    for i in $(seq "$1" "$2"); do
        printf '{"id":"%s","title":"tree %s","text":"tree %s apple","summary":"pear s%s","tags":["t%s","tree %s"],"n":%s}\n' \
            "$i" "$((i % 5))" "$i" "$((i % 50))" "$((i % 7))" "$((i % 3))" "$i"
    done
}

same() { # same STORE STORE: but for the record of the build
    rm -f "$1/stats.json" "$2/stats.json"
    diff -r "$1" "$2"
}

@test "the same bytes for any threads, memory and cut" {
    many 1 3000 >many.jsonl
    how=(--index-fields "tags,summary" --keep-fields n --quiet --skip "duplicates,thesaurus,vectors")
    quern build many.jsonl -o one "${how[@]}"
    quern build many.jsonl -o two "${how[@]}" --threads 1 --memory 100M
    same one two
    quern verify one --quiet
}

@test "changed stores are those of a new build" {
    how=(--index-fields "tags,summary" --skip all --quiet)
    many 1 400 >first.jsonl
    many 401 600 >second.jsonl
    cat first.jsonl second.jsonl >all.jsonl
    quern build all.jsonl -o whole "${how[@]}"
    quern build first.jsonl -o grown "${how[@]}"
    ends_with 2 quern build second.jsonl -o grown --update --index-fields tags
    says "--index-fields cannot be combined with --update, which indexes the fields of the store"
    quern build second.jsonl -o grown --update --quiet
    same grown whole
    # Documents that go, and that are replaced.
    seq 1 100 >gone
    quern build -o grown --delete gone --quiet
    sed 1,100d all.jsonl >rest.jsonl
    quern build rest.jsonl -o whole "${how[@]}" --force
    same grown whole
    sed -n 's/pear/plum/; 101,150p' first.jsonl >new.jsonl
    quern build new.jsonl -o grown --replace --quiet
    sed 1,150d all.jsonl | cat - new.jsonl >rest.jsonl
    quern build rest.jsonl -o whole "${how[@]}" --force
    same grown whole
    # Stores that are merged.
    head -n 99 rest.jsonl >begin.jsonl
    sed 1,99d rest.jsonl >end.jsonl
    quern build begin.jsonl -o begin "${how[@]}"
    quern build end.jsonl -o end "${how[@]}"
    quern merge begin end -o merged --skip all --quiet
    same merged whole
    quern build end.jsonl -o other --skip all --keep-fields tags,summary --quiet
    ends_with 2 quern merge begin other -o merged --force
    says "--index-fields is tags,summary in the first, none in the second"
    # The mirror of a file.
    quern build rest.jsonl -o mirror "${how[@]}"
    sed -i '3,9d; 20s/tree/oak/g' rest.jsonl
    quern build rest.jsonl -o mirror --sync --index-fields tags,summary --quiet
    quern build rest.jsonl -o whole "${how[@]}" --force
    same mirror whole
    ends_with 2 quern build rest.jsonl -o mirror --sync --index-fields summary
    says "--index-fields"
    [ "$(quern search mirror tags:oak --count)" = 1 ]
}
