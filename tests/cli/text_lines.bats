#!/usr/bin/env bats
# shellcheck disable=SC2154 # common and bats set $data, $stderr
# Plain text with a document on each line, or between empty lines, in every command that reads a corpus: what it makes of
# the same documents as JSON lines.
load common

own_setup() {
    python3 - <<'END'
import json, random
random.seed(5)
words = "corn salt bread water stone flour wheel barley river oven dough sack cart mule bridge Über 東京".split()
rows = [" ".join(random.choice(words) for _ in range(random.randint(4, 25))) + "." for _ in range(300)]
rows += [row + " And more" for row in rows[::7]] + rows[::11]
with open("lines.txt", "w") as text, open("lines.jsonl", "w") as lines, open("blocks.txt", "w") as blocks:
    number = 0
    for i, row in enumerate(rows):
        if i % 5 == 0:
            text.write("\n")
            number += 1
        number += 1
        text.write(row + "\n")
        lines.write(json.dumps({"id": f"lines.txt:{number}", "text": row}) + "\n")
        blocks.write(row.replace(" bread ", "\n") + "\n\n")
END
    plain=(lines.txt --input-format text-lines)
}

# kept_lines: of JSON lines, the texts.
kept_lines() { python3 -c 'import json, sys; [print(json.loads(line)["text"]) for line in sys.stdin]'; }

same() { # same COMMAND OPTION...: the rows of both forms
    local command=$1
    shift
    quern "$command" "${plain[@]}" --quiet "$@" >of_text
    quern "$command" lines.jsonl --quiet "$@" >of_json
    [ -s of_text ]
    cmp of_text of_json
}

@test "each command makes of lines what it makes of JSON lines" {
    same dedup --threshold 0.2
    same signature
    same ngrams --order 2
    quern ngrams lines.jsonl --order 2 --arpa model.arpa --quiet
    quern perplexity model.arpa "${plain[@]}" --quiet >of_text
    quern perplexity model.arpa lines.jsonl --quiet | cmp - of_text
    for form in text json; do
        local corpus=("${plain[@]}")
        [ $form = text ] || corpus=(lines.jsonl)
        quern build "${corpus[@]}" -o $form.store --skip vectors --quiet
        quern words "${corpus[@]}" -o $form.space --min-count 2 --quiet
        quern dictionary "${corpus[@]}" -o $form.words --quiet
        quern count $form.store 'bread water' >$form.count
        quern search $form.store 'bread river' --quiet >$form.hits
    done
    diff -r --exclude stats.json text.store json.store
    cmp text.words json.words
    cmp text.count json.count
    cmp text.hits json.hits
}

@test "kept lines are copied byte for byte, to a file and to a folder, with masks and with parts" {
    quern dedup "${plain[@]}" -o kept.txt --threshold 0.2 --quiet
    quern dedup lines.jsonl -o - --threshold 0.2 --quiet | kept_lines | cmp - kept.txt
    [ "$(wc -l <kept.txt)" -lt "$(grep -c . lines.txt)" ]
    mkdir -p in/part
    head -n 200 lines.txt >in/a.txt
    tail -n +201 lines.txt | gzip -n >in/part/b.txt.gz
    : >in/empty.txt
    quern dedup in --input-format text-lines -o out/ --threshold 0.2 --resume --quiet
    cat out/a.txt <(gzip -dc out/part/b.txt.gz) | cmp - kept.txt
    [ "$(wc -c <out/empty.txt)" -eq 0 ]
    quern dedup in/a.txt in/empty.txt --input-format text-lines -o named/ --threshold 0.2 --quiet
    cmp named/a.txt out/a.txt
    [ "$(wc -c <named/empty.txt)" -eq 0 ]

    printf 'Write to ann@example.org today.\r\nNothing to mask here\nNothing to mask here' >mail.txt
    quern filter mail.txt --input-format text-lines --mask emails -o masked.txt --quiet
    quern filter mail.txt --input-format text-lines --mask emails -o masked/ --quiet
    cmp masked.txt masked/mail.txt
    grep -q $'^Write to .* today\.\r$' masked.txt
    run ! grep -q ann@ masked.txt
    quern dedup mail.txt --input-format text-lines --level line --min-length 3 -o once.txt --quiet
    [ "$(wc -l <once.txt)" -eq 2 ]
    quern decontaminate "${plain[@]}" --against "$data/corpus.jsonl" -o clean.txt --quiet
    cmp clean.txt <(grep . lines.txt)
}

@test "a job of several tasks takes lines" {
    quern dedup "${plain[@]}" -o kept.txt --threshold 0.2 --groups groups.tsv --quiet
    quern dedup "${plain[@]}" -o shared.txt --threshold 0.2 --groups shared.tsv --cluster local:2 --share share --quiet
    cmp kept.txt shared.txt
    cmp groups.tsv shared.tsv
}

@test "an update and a --sync read lines" {
    quern build "${plain[@]}" -o store --skip all --quiet
    printf 'A harbour of its own\n' >more.txt
    quern build more.txt --input-format text-lines -o store --update --quiet
    [ "$(quern search store harbour --quiet | cut -f 2)" = more.txt:1 ]
    head -n 20 lines.txt >fewer.txt
    quern build fewer.txt more.txt --input-format text-lines -o synced --skip all --quiet
    printf 'A harbour and a bay\n' >more.txt
    quern build fewer.txt more.txt --input-format text-lines -o synced --sync --quiet
    [ "$(quern search synced bay --quiet | cut -f 2)" = more.txt:1 ]
}

@test "documents between empty lines" {
    [ "$(quern dedup blocks.txt --input-format text-paragraphs --groups - --quiet | wc -l)" -gt 10 ]
    quern dedup blocks.txt --input-format text-paragraphs -o kept.txt --threshold 0.2 --quiet
    quern dedup lines.jsonl -o - --threshold 0.2 --quiet | kept_lines | wc -l >expected
    [ "$(grep -c '^$' kept.txt)" -eq "$(cat expected)" ]
    quern dedup kept.txt --input-format text-paragraphs -o again.txt --threshold 0.2 --quiet
    cmp kept.txt again.txt
    printf 'One line\nits copy\n\nOther\nits copy\n' >two.txt
    quern dedup two.txt --input-format text-paragraphs --level line --min-length 3 -o once.txt --quiet
    printf 'One line\nits copy\n\nOther\n\n' | cmp - once.txt
}

@test "compressed, from standard input, with CRLF and a byte-order mark" {
    for pack in "gzip -c" "bzip2 -c" "zstd -qc" "xz -c" cat; do
        printf '\xef\xbb\xbfone\r\n\r\ntwo\r\n' | $pack >packed
        quern build packed --input-format text-lines -o store --skip all --quiet --force
        [ "$(quern search store two --quiet | cut -f 2)" = packed:3 ]
        quern dedup packed --input-format text-lines -o - --quiet | cmp - <(printf 'one\r\ntwo\r\n')
        [ "$(quern dedup - --input-format text-lines -o - --quiet <packed | tr -d '\r' | tr '\n' ' ')" = "one two " ]
    done
}

@test "empty lines are counted, broken ones named with file and line" {
    ends_with 0 quern build "${plain[@]}" -o store --skip all
    [[ $stderr == *"skipped $(grep -c '^$' lines.txt) empty lines"* ]]
    printf 'good\n\nbad \xff\n' >broken.txt
    ends_with 0 quern build broken.txt --input-format text-lines -o broken --skip all
    [[ $stderr == *"broken.txt:3: not UTF-8"* ]]
    { echo short; head -c 2000000 /dev/zero | tr '\0' 'x'; echo; echo last; } >long.txt
    ends_with 0 quern build long.txt --input-format text-lines -o long --skip all --memory 4M --max-errors 1
    [[ $stderr == *"long.txt:2: larger than the "* ]]
    [ "$(quern search long last --quiet | cut -f 2)" = long.txt:3 ]
}

@test "binary files of a folder are skipped and named" {
    mkdir -p in/sub
    cp lines.txt in/a.txt
    printf '\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\n\0\n' >in/b.png
    gzip -nc in/b.png >in/sub/c.png.gz
    printf 'plain\n' >in/sub/d.dat
    for form in text-lines text-paragraphs lines; do
        ends_with 0 quern build in --input-format $form -o store --skip all --force
        says "2 .png"
        ends_with 0 quern build in/a.txt in/sub/d.dat --input-format $form -o alone --skip all --force
        [ "$(quern info store | grep ^documents)" = "$(quern info alone | grep ^documents)" ]
    done
    quern dedup in --input-format text-lines -o out/ --quiet
    [ "$(cd out && find . -type f | sort | tr '\n' ' ')" = "./a.txt ./manifest.json ./sub/d.dat " ]
}

@test "a text that is too large names the form" {
    head -c 3000000 /dev/zero | tr '\0' 'x' >large.txt
    ends_with 3 quern build large.txt -o store --skip all --memory 4M
    says "--input-format text-lines makes each a document"
}

@test "collections and queries of MS MARCO are TSV" {
    printf '0\tThe presence of communication.\n1\tThe Manhattan Project.\n' >collection.tsv
    printf '121352\tdefine extreme\n634306\twhat does chattel mean\n' >queries.tsv
    quern dedup collection.tsv -o - --quiet | cmp - collection.tsv
    quern build collection.tsv -o store --skip all --quiet
    [ "$(quern search store manhattan --quiet | cut -f 2)" = 1 ]
    quern build queries.tsv -o queries --skip all --quiet
    [ "$(quern search queries chattel --quiet | cut -f 2)" = 634306 ]
    printf '7\tmanhattan project\n' >topics.tsv
    [ "$(quern search store --topics topics.tsv --quiet | cut -d ' ' -f 1,3)" = "7 1" ]
}
