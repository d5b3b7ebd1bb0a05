#!/usr/bin/env bats
# shellcheck disable=SC2154 # common and bats set $data, $stderr
# quern filter: what it writes, where, and what it refuses.
load common

own_setup() {
    cat >crawl.jsonl <<'END'
{"id":"a","text":"buy buy buy buy"}
{"id":"b",  "text":"The mill stands by the river. Its wheel turns all day.", "more":1}
{"id":"c","text":"Das Rad der alten Mühle dreht sich langsam im Wasser des kleinen Baches."}
{"id":"d","text":"Please enable JavaScript.\nThe wheel of the mill turns. Write to joe@example.org."}
END
}

refused() { # refused TEXT ARGUMENT...
    local text=$1
    shift
    ends_with 2 quern filter "$@"
    says "$text"
}

filter() { quern filter --quiet "$@"; }

@test "kept documents byte for byte, removed ones with rule, value and limit" {
    filter crawl.jsonl --rules gopher-repetition.max-top-2-gram=0.5 -o kept.jsonl --removed - |
        diff <(printf 'a\tgopher-repetition.max-top-2-gram\t1.4\t0.5\n') -
    sed 1d crawl.jsonl | cmp - kept.jsonl
    filter crawl.jsonl --rules length.max-words=4 | cut -f 1 | tr -d '\n' | grep -qx bcd
    [ -z "$(filter crawl.jsonl --rules length.max-words=99 -o kept.jsonl --force)" ]
    filter kept.jsonl --rules length.max-words=99 -o - | cmp - crawl.jsonl
    filter crawl.jsonl --rules length.max-words=4 --format jsonl | head -n 1 |
        diff <(echo '{"id":"b","rule":"length.max-words","value":"11","limit":"4"}') -
    filter - --rules length.max-words=4 -o - <crawl.jsonl | diff <(head -n 1 crawl.jsonl) -
}

@test "files that a list or a pattern names" {
    filter crawl.jsonl --rules length.max-words=4 -o whole.jsonl
    echo crawl.jsonl >list
    filter --files-from list --rules length.max-words=4 -o - | cmp - whole.jsonl
    filter 'cra*.jsonl' --rules length.max-words=4 -o - | cmp - whole.jsonl
    refused "CORPUS is required" --rules length.max-words=4
}

@test "rules and masks that change texts change nothing else of the line" {
    filter crawl.jsonl --rules c4.javascript --mask emails -o - | sed -n 4p |
        diff <(echo '{"id":"d","text":"The wheel of the mill turns. Write to email@example.com."}') -
    filter crawl.jsonl --rules c4.javascript -o - | head -n 3 | cmp - <(head -n 3 crawl.jsonl)
    printf '{"id":"x","text":"8.8.8.8 10.0.0.1"}\n' | filter - --mask 'ips, emails' -o - |
        diff <(echo '{"id":"x","text":"22.214.171.124 10.0.0.1"}') -
}

@test "languages" {
    filter crawl.jsonl --language de --language-score 0.5 -o - | diff <(sed -n 3p crawl.jsonl) -
    filter crawl.jsonl --language de,en | cut -f 1-2 | grep -q $'^a\tlanguage'
    refused "unknown language 'xx' (expected one of af, ar" crawl.jsonl --language xx
    refused "--language-score requires --language" crawl.jsonl --rules c4 --language-score 0.5
}

@test "a file of rules, changed on the command line" {
    printf '[length]\nmin-words = 5\n\n[c4]\nmin-sentences = 1\n' >rules.toml
    filter crawl.jsonl --rules-file rules.toml | diff <(printf 'a\tlength.min-words\t4\t5\n') -
    filter crawl.jsonl --rules-file rules.toml --rules length.min-words=12 | cut -f 1 | tr -d '\n' | grep -qx ab
    printf '[length]\nmin-words = many\n' >rules.toml
    refused "rules.toml:2: " crawl.jsonl --rules-file rules.toml
    printf '[length]\nmin-word = 3\n' >rules.toml
    refused "rules.toml:2: length has no rule 'min-word'" crawl.jsonl --rules-file rules.toml
    refused "c4-paragraphs is a group, which takes no value (expected one of its rules: min-paragraphs, paragraph-characters)" \
        crawl.jsonl --rules c4-paragraphs=3
    refused "cannot read the file of rules" crawl.jsonl --rules-file missing.toml
}

@test "one output for each input" {
    mkdir in
    cp crawl.jsonl in/one.jsonl
    printf 'x\tshort\ny\tlong enough to stay here\n' >in/two.tsv
    filter in --rules length.min-words=5 -o out/
    sed 1d crawl.jsonl | cmp - out/one.jsonl
    [ "$(cat out/two.tsv)" = $'y\tlong enough to stay here' ]
    refused "is not empty" in --rules c4 -o out/
    refused "not a Parquet file" in --rules c4 -o kept.parquet
    refused "FILE.parquet for Parquet files" in --rules c4 -o kept.arrow
}

@test "kill -9 at random moments, then --resume: the same bytes, and nothing is left" {
    mkdir in
    for i in $(seq -w 1 12); do
        python3 - "$i" <<'PY' >"in/s$i.jsonl"
import random, sys
random.seed(int(sys.argv[1]))
for n in range(1500):
    text = " ".join(random.choice(["mill", "stone", "water", "of", "the", "and", "a.b@c.example"]) for _ in range(random.randint(5, 200)))
    print('{"id":"%s-%d","text":"%s"}' % (sys.argv[1], n, text))
PY
    done
    for i in 02 05; do gzip -n "in/s$i.jsonl"; done
    for i in 03 06; do zstd -q --rm "in/s$i.jsonl"; done
    local arguments=(in --rules gopher-quality,gopher-repetition --mask emails --threads 1)
    filter "${arguments[@]}" -o whole/ --removed whole.tsv
    local kills=0 trials=3
    [ -z "${QUERN_LONG:-}" ] || trials=20
    for _ in $(seq "$trials"); do
        rm -rf out out.tsv
        until_done 900 filter "${arguments[@]}" -o out/ --removed out.tsv --force --resume
        diff -r whole out
        cmp whole.tsv out.tsv
        [ -z "$(find . -maxdepth 1 -name '.out*' -not -name '.out.tsv*')" ]
    done
    [ $kills -gt 0 ]
    quern filter "${arguments[@]}" -o out/ --removed out.tsv --resume 2>said
    grep -q 'out/ is complete already' said
    refused "--resume requires --output DIR/" in --rules c4 -o out.jsonl --resume
}

@test "the report has examples, the statistics have counts" {
    filter crawl.jsonl --rules length.max-words=4 -o /dev/null --report page.html --sample-removed 1 --stats stats.json
    grep -q '<h2>length.max-words</h2>' page.html
    grep -q '3 removed; 2 shown' page.html
    grep -q '"removed: length.max-words": *3' stats.json
    refused "--sample-removed requires --report" crawl.jsonl --rules c4 --sample-removed 3
}

@test "the rules are listed" {
    quern filter --list-rules | grep -qP '^gopher-quality.min-words\tat least\t50\t.*\tRae et al. 2021'
    [ "$(quern filter --list-rules | wc -l)" -ge 49 ]
}

@test "invalid requests are refused" {
    refused "there is nothing to do (expected --rules" crawl.jsonl
    refused "there is nothing to do: every rule is off" crawl.jsonl --rules length.min-words=off
    refused "there is nothing to do: every rule is off" crawl.jsonl --rules gopher-quality.min-words=off
    refused "--rules: a name is empty" crawl.jsonl --rules=
    refused "CORPUS is required" --rules c4
    refused "there is no rule or group 'gopher'" crawl.jsonl --rules gopher
    refused "invalid value 'phones' (expected one of emails, ips)" crawl.jsonl --mask phones
    refused "standard input (-) can be given only once" - - --rules c4
    refused "c4.bad-words: 'none.txt' is not a file" crawl.jsonl --rules c4.bad-words=none.txt
    refused "crawl.jsonl" crawl.jsonl --rules c4 -o crawl.jsonl --force
    ends_with 2 quern filter missing.jsonl --rules c4
}

@test "percentiles of a reference: parts that are disjoint and complete" {
    printf 'the cat sat on the mat\nthe dog sat on the mat\n' >text.txt
    quern ngrams text.txt --tokenized --sentences --order 2 --smoothing kneser-ney --arpa text.arpa --quiet
    for i in 1 2 3 4 5 6 7 8 9; do
        printf '{"id":"%s","text":"the cat sat%s"}\n' "$i" "$(yes ' zebra' | head -n "$i" | tr -d '\n')"
    done >docs.jsonl
    filter() { quern filter docs.jsonl --perplexity text.arpa --reference docs.jsonl "$@" -o - --quiet; }
    [ "$(filter --below-percentile 33.4 | wc -l)" -eq 4 ] # the nearest rank above 3.006
    [ "$(filter --below-percentile 0 | wc -l)" -eq 1 ]
    [ "$(filter --above-percentile 100 | wc -l)" -eq 0 ]
    for measure in perplexity bits-per-byte; do
        filter --perplexity-measure "$measure" --below-percentile 33 >head
        filter --perplexity-measure "$measure" --above-percentile 33 --below-percentile 67 >middle
        filter --perplexity-measure "$measure" --above-percentile 67 >tail
        [ "$(wc -l <head)" -eq 3 ]
        sort head middle tail | cmp - docs.jsonl
    done
    # As with the values themselves.
    value=$(quern perplexity text.arpa docs.jsonl --quiet | cut -f 5 | sort -g | sed -n 3p)
    cmp <(filter --above-percentile 33) <(quern filter docs.jsonl --perplexity text.arpa --above "$value" -o - --quiet)
    printf '{"id":"a","text":"..."}\n' >none.jsonl
    refused "no document of the reference has words" docs.jsonl --perplexity text.arpa --below-percentile 5 --reference none.jsonl
    refused "score on the CPU (leave out --device cuda)" docs.jsonl --perplexity text.arpa --below 60 --device cuda --cluster local:2 --share job -o kept.jsonl
    refused "--gpu-memory cannot be combined with --cluster" docs.jsonl --perplexity text.arpa --below 60 --gpu-memory 1G --cluster local:2 --share job -o kept.jsonl
}

@test "perplexity: the values of quern perplexity, after the rules" {
    printf '%s\n' '{"id":"good","text":"The cat sat on the mat."}' '{"id":"bad","text":"mat on on cat zebra sat the."}' \
        '{"id":"short","text":"cat"}' '{"id":"none","text":"..."}' >docs.jsonl
    printf 'the cat sat on the mat\nthe dog sat on the mat\n' >text.txt
    quern ngrams text.txt --tokenized --sentences --order 3 --smoothing kneser-ney --arpa text.arpa --quiet
    quern perplexity text.arpa docs.jsonl --bits-per-byte --quiet >scores
    good=$(awk -F '\t' '$1 == "good" { print $5 }' scores) bad=$(awk -F '\t' '$1 == "bad" { print $5 }' scores)
    quern filter docs.jsonl --perplexity text.arpa --below "$bad" --rules length.min-words=2 -o kept.jsonl --removed removed --quiet
    [ "$(cat kept.jsonl)" = '{"id":"good","text":"The cat sat on the mat."}' ]
    [ "$(cat removed)" = $'bad\tperplexity.below\t'"$bad"$'\t'"$bad"$'\nshort\tlength.min-words\t1\t2\nnone\tlength.min-words\t0\t2' ]
    quern filter docs.jsonl --perplexity text.arpa --above "$good" --below 999 --removed removed --quiet --force
    [ "$(cut -f 1-3 removed | head -n 1)" = $'good\tperplexity.above\t'"$good" ]
    [ "$(tail -n 1 removed)" = $'none\tperplexity.below\tnan\t999' ]
    quern model text.arpa -o text.model --quiet
    mkfifo text.fifo
    quern filter docs.jsonl --perplexity text.model --above "$good" --below 999 --quiet --threads 3 | cmp removed -
    bits=$(awk -F '\t' '$1 == "bad" { print $6 }' scores)
    quern filter docs.jsonl --perplexity text.arpa --perplexity-measure bits-per-byte --below "$bits" --quiet >removed
    grep -qF $'bad\tbits-per-byte.below\t'"$bits"$'\t' removed
    # Another model under the same name does not go on with the outputs of the first.
    refused "text.fifo: to resume a run, the language model must be a file" docs.jsonl --perplexity text.fifo --below 9 -o out/ --resume
    quern filter docs.jsonl --perplexity text.model --below 999 -o out/ --resume --quiet
    quern filter docs.jsonl --perplexity text.model --below 999 -o out/ --resume 2>said
    grep -q 'out/ is complete already' said
    cp text.model first.model
    printf 'the dog sat on the mat\n' >>text.txt
    quern ngrams text.txt --tokenized --sentences --order 3 --smoothing kneser-ney --arpa text.arpa --quiet --force
    quern model text.arpa -o text.model --quiet --force
    refused "is not empty" docs.jsonl --perplexity text.model --below 999 -o out/ --resume
    cp first.model text.model
    quern filter docs.jsonl --perplexity text.model --below 999 -o out/ --resume 2>said
    grep -q 'out/ is complete already' said
    # Nor does another reference, in a file or a folder.
    mkdir ref
    printf 'the cat sat on a mat\n' >ref/one.txt
    cp docs.jsonl ref.jsonl
    for reference in ref.jsonl ref/; do
        file=$(find "$reference" -type f)
        by=(docs.jsonl --perplexity text.model --below-percentile 50 --reference "$reference" -o by/ --resume)
        rm -rf by
        quern filter "${by[@]}" --quiet
        cp "$file" first
        tr c b <first >"$file"
        touch -r first "$file"
        refused "is not empty" "${by[@]}"
        cp first "$file"
        quern filter "${by[@]}" 2>said
        grep -q 'by/ is complete already' said
    done
    refused "text.fifo: to resume a run, the reference must be files or folders" docs.jsonl --perplexity text.model \
        --below-percentile 50 --reference text.fifo -o new/ --resume
    refused "--perplexity needs a limit" docs.jsonl --perplexity text.arpa
    refused "percentiles need --reference CORPUS" docs.jsonl --perplexity text.arpa --below-percentile 50
    refused "cannot be combined with percentiles" docs.jsonl --perplexity text.arpa --below-percentile 50 --below 9 --reference docs.jsonl
    refused "--reference requires --below-percentile" docs.jsonl --perplexity text.arpa --below 9 --reference docs.jsonl
    refused "--below requires --perplexity" docs.jsonl --rules c4 --below 2
}
