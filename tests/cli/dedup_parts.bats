#!/usr/bin/env bats
# shellcheck disable=SC2016,SC2154 # as in dedup.bats
# quern dedup --level paragraph|line|substring: what it cuts, writes and refuses.
load common

own_setup() {
    cat >corpus.jsonl <<'END'
{"id":"a","text":"The mill stands by the river, and its wheel turns all day and night.\nSubscribe to our news, and never miss a page again!\n"}
{"id":"b", "n":1.50, "text":"Bread is flour,\twater, \"salt\" and time.\nSubscribe to our news, and never miss a page again!\n"}
{"id":"c","text":"\nSubscribe to our news, and never miss a page again!"}
{"id":"d","text":"He said: the mill stands by the river, and its wheel turns all day and never rests."}
END
}

dedup() { quern dedup --quiet "$@"; }

@test "lines: cut with their ends, the rest byte for byte" {
    dedup corpus.jsonl --level line >cuts
    diff <(printf 'b\t39\t91\ta\nc\t0\t52\ta\n') cuts
    dedup corpus.jsonl --level line -o kept --cuts again
    cmp cuts again
    cmp kept - <<'END'
{"id":"a","text":"The mill stands by the river, and its wheel turns all day and night.\nSubscribe to our news, and never miss a page again!\n"}
{"id":"b", "n":1.50, "text":"Bread is flour,\twater, \"salt\" and time.\n"}
{"id":"d","text":"He said: the mill stands by the river, and its wheel turns all day and never rests."}
END
    # Once more: nothing is left to cut.
    [ -z "$(dedup kept --level line)" ]
    dedup kept --level line -o - | cmp - kept
    dedup corpus.jsonl --level line --min-length 52 | diff /dev/null -
}

@test "paragraphs: cut with the blank lines after" {
    local shared='A paragraph that is in both of these documents,\nof two lines.'
    printf '{"id":1,"text":"%s\\n\\nOne.\\n"}\n{"id":2,"text":"Two.\\n\\n%s\\n \\n\\nThree.\\n\\n%s\\n"}\n' "$shared" "$shared" "$shared" >p.jsonl
    dedup p.jsonl --level paragraph --format jsonl |
        diff <(printf '{"id":"2","begin":%s,"end":%s,"first_id":"1"}\n' 6 71 77 140) -
    dedup p.jsonl --level paragraph -o - | tail -n 1 | diff <(echo '{"id":2,"text":"Two.\n\nThree.\n"}') -
}

@test "substrings: wherever they are, and whole words" {
    dedup corpus.jsonl --level substring | diff <(printf 'b\t38\t92\ta\nc\t0\t52\ta\nd\t10\t72\ta\n') -
    dedup corpus.jsonl --level substring --whole-words | diff <(printf 'b\t38\t92\ta\nc\t0\t52\ta\nd\t12\t71\ta\n') -
    dedup corpus.jsonl --level substring -o - | tail -n 1 |
        diff <(echo '{"id":"d","text":"He said: tever rests."}') -
    dedup corpus.jsonl --level substring --min-length 62 | diff <(printf 'd\t10\t72\ta\n') -
    [ -z "$(dedup corpus.jsonl --level substring --min-length 63)" ]
}

@test "the summary and the statistics" {
    ends_with 0 quern dedup corpus.jsonl --level line -o kept --stats stats.json
    says "4 documents, 2 changed, 1 dropped; 104 of 348 characters cut (29.89 %)"
    json stats.json '[d["counts"][k] for k in ("documents","changed","dropped","cuts","characters_cut")]' |
        grep -qx '\[4, 2, 1, 2, 104\]'
    ends_with 0 quern dedup corpus.jsonl --level document -o whole
    cmp whole corpus.jsonl
}

@test "against a corpus, a store, and a store of build: what they have is cut, too" {
    head -n 1 corpus.jsonl >old.jsonl
    tail -n 3 corpus.jsonl >new.jsonl
    dedup old.jsonl --store seen >/dev/null
    build old.jsonl built
    dedup corpus.jsonl --level substring >cuts
    for old in old.jsonl seen built; do
        dedup new.jsonl --level substring --against $old | cmp - cuts
    done
    ends_with 0 quern dedup new.jsonl --level line --against old.jsonl -o kept
    says "3 documents (and 1 before), 2 changed"
    refused "as --against" dedup built --level line
    refused "no such" dedup corpus.jsonl --level line --against none
}

@test "one output for each input" {
    mkdir in
    head -n 2 corpus.jsonl >in/a.jsonl
    sed 1,2d corpus.jsonl | gzip -n >in/b.jsonl.gz
    printf 'id,text,more\n7,"Subscribe to our news, and never miss a page again!\nNot this, ""it"" stays",x\n8,short,y\n' >in/c.csv
    printf 'A page, all its own\n' >in/d.txt
    dedup in --level line -o all --cuts of_file
    dedup in --level line -o out/ --cuts of_folder
    cmp of_file of_folder
    dedup corpus.jsonl --level line -o kept
    { cat out/a.jsonl && gzip -dc out/b.jsonl.gz; } | cmp - kept
    diff out/c.csv <(printf 'id,text,more\n7,"Not this, ""it"" stays",x\n8,short,y\n')
    cmp in/d.txt out/d.txt
    [ "$(json out/manifest.json 'd["documents"], d["kept"], d["parameters"]["level"]')" = "(7, 6, 'line')" ]
    printf 'Another page\nSubscribe to our news, and never miss a page again!\n' >in/e.txt
    refused "e.txt: a part of this document is cut out" dedup in --level line -o other/
    refused "out exists and is not empty" dedup in --level line -o out/
    refused "is inside the input in" dedup in --level line -o in/out/
    [ ! -e other ]
}

@test "the same for every thread count and memory budget, within the budget" {
    awk 'BEGIN { for (i = 0; i < 100000; ++i) printf "{\"id\":\"d%d\",\"text\":\"word%d and word%d of document\\nline number %d of the pages %d\"}\n", i, i % 9973, i % 101, i % 7919, i % 7919 }' >many.jsonl
    for level in line substring; do
        dedup many.jsonl --level $level --min-length 20 --cuts once -o kept --threads 1
        within 64M 0 dedup many.jsonl --level $level --min-length 20 --cuts again -o kept.again --threads 3 --quiet
        [ -s once ]
        cmp once again
        cmp kept kept.again
        rm -f once again kept kept.again
    done
}

@test "TSV, standard input, and a last line without an end" {
    printf 'x\tsome text that is long enough for it\r\ny\tand some text that is long enough for it' >c.tsv
    dedup c.tsv --level substring --min-length 20 -o - | cmp - <(printf 'x\tsome text that is long enough for it\r\ny\tand \n')
    dedup - --level line <corpus.jsonl | cut -f 1 | tr -d '\n' | grep -qx bc
}

@test "options without meaning are refused before the work" {
    for option in "--threshold 0.1" "--method simhash" "--pairs p" "--groups g" "--report r.html" --stream "--store s" \
        "--keep last" --binary "--rule connected" "--prefer corpus.jsonl" "--stem porter"; do
        # shellcheck disable=SC2086 # an option and its value
        refused "requires --level document; it has no meaning with --level line" dedup corpus.jsonl --level line $option
    done
    refused "--whole-words requires --level substring" dedup corpus.jsonl --level line --whole-words
    refused "--cuts requires --level paragraph, line or substring" dedup corpus.jsonl --cuts c
    refused "--min-length requires --method" dedup corpus.jsonl --min-length 3
    dedup corpus.jsonl --method shingle --min-length 3
    refused "min_length" dedup corpus.jsonl --method shingle --min-length 2000
    refused "from 1 to 100000" dedup corpus.jsonl --level line --min-length 0
    refused "expected one of document, paragraph, line, substring" dedup corpus.jsonl --level word
    refused "input" dedup corpus.jsonl --level line -o corpus.jsonl
    refused "cpu only" dedup corpus.jsonl --level line --device cuda
    refused "--resume requires --level document" dedup corpus.jsonl --level line -o kept/ --resume
    refused "binary files have no text to cut" dedup "$data/garden" --input-format binary --level line
    printf 'a\nb\n' >words.txt
    refused "the corpus form lines" dedup words.txt --input-format lines --level line
    : >empty.jsonl
    ends_with 3 quern dedup empty.jsonl --level line --input-format jsonl
}

@test "Ctrl-C in the middle leaves no file" {
    mkdir out scratch
    mkfifo pipe
    endless_corpus >pipe 2>/dev/null &
    local writer=$!
    "$QUERN" dedup - --level substring -o out/kept --cuts out/cuts --tmp scratch --quiet <pipe 2>said &
    local program=$! status=0
    at_work "$program"
    kill -INT "$program"
    wait "$program" || status=$?
    kill "$writer" 2>/dev/null || true
    [ "$status" -eq 130 ]
    grep -q "interrupted" said
    if was_forced said; then
        dedup corpus.jsonl --level line -o out/kept --cuts out/cuts --tmp scratch
        rm out/kept out/cuts
    fi
    nothing_left scratch
    nothing_left out
}

@test "a full disk while writing: 4, and no file" {
    [ -e /dev/full ] || skip "no /dev/full"
    mkdir out
    ends_with 4 quern dedup corpus.jsonl --level line --cuts /dev/full -o out/kept
    nothing_left out
}
