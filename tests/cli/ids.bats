#!/usr/bin/env bats
# Ids that restart in each file, are missing, or are called otherwise; headings on top of tables.
load common

shards() { # three shards whose ids begin anew, 20 documents each, one text in all of them
    for shard in a b c; do
        for i in $(seq 20); do
            printf '{"id":%d,"text":"document %d of shard %s speaks of %s%s"}\n' "$i" "$i" "$shard" "$shard$i" "$shard"
        done >"$shard.jsonl"
        printf '{"id":21,"text":"the same words in every shard, and nothing else"}\n' >>"$shard.jsonl"
    done
}

@test "ids that restart in each file: no document is lost, and no message advises dropping any" {
    shards
    run --separate-stderr quern dedup a.jsonl b.jsonl c.jsonl -o clean.jsonl --groups groups.tsv --threshold 0.01
    [ "$status" -eq 0 ]
    [[ $stderr != *"max-errors"* && $stderr != *"rejected"* ]]
    [[ $stderr == *"42 documents have the id of a document of an earlier file, and the file in front of it: b.jsonl:1, …"* ]]
    [ "$(wc -l <clean.jsonl)" -eq 61 ]
    cut -f 1-3 groups.tsv | cmp - <(printf '0\t21\t1\n0\tb.jsonl:21\t0\n0\tc.jsonl:21\t0\n')
    # Threads and memory change nothing; nor does a stream of generated ids lose one.
    quern dedup a.jsonl b.jsonl c.jsonl -o again.jsonl --groups again.tsv --threshold 0.01 --threads 1 --memory 64M --quiet
    cmp clean.jsonl again.jsonl
    cmp groups.tsv again.tsv
    cat a.jsonl b.jsonl c.jsonl | quern dedup --stream --ids generate --threshold 0.01 --quiet >stream.tsv
    [ "$(wc -l <stream.tsv)" -eq 63 ]
    [ "$(sed -n 63p stream.tsv | cut -f 1-3)" = "-:63	1	-:21" ]
    ends_with 3 quern dedup a.jsonl b.jsonl -o none --ids global
    says 'b.jsonl:1: duplicate id "1"; first used in an earlier file'
    [ ! -e none ]
}

@test "a store of shards whose ids restart: every document is found by its name" {
    shards
    sed -i '$d' [abc].jsonl # the text that is in all of them: with the same id it would be known to a store
    build a.jsonl one
    quern build a.jsonl b.jsonl c.jsonl -o store --skip all --quiet
    [ "$(json store/store.json 'd["documents"]')" -eq 60 ]
    [ "$(quern search store b7b --quiet | cut -f 2)" = b.jsonl:7 ]
    [ "$(quern search store c3c --quiet | cut -f 2)" = c.jsonl:3 ]
    quern build b.jsonl c.jsonl -o one --update --quiet
    for file in store/*; do
        [ "$(basename "$file")" = stats.json ] || cmp "$file" "one/$(basename "$file")"
    done
    quern build b.jsonl c.jsonl -o one --update --quiet
    [ "$(json one/store.json 'd["documents"]')" -eq 60 ]
}

@test "folders with equal paths keep all their files" {
    mkdir f1 f2
    echo one >f1/README.md
    echo two >f2/README.md
    quern dedup f1 f2 --groups groups -o kept.jsonl --quiet
    [ "$(python3 -c 'import json; print(*[json.loads(l)["id"] for l in open("kept.jsonl")])')" = "README.md f2/README.md" ]
    quern signature f1 f2 --quiet | cut -f 1 | tr '\n' ' ' | grep -qx 'README.md f2/README.md '
}

@test "lines without an id are named by file and line" {
    mkdir -p in/part
    printf '{"text":"one fish","url":"x"}\n\n{"text":"two fish"}\n' | tee in/part/c4.jsonl >c4.jsonl
    build c4.jsonl store
    [ "$(quern search store fish --quiet | cut -f 2 | sort | tr '\n' ' ')" = "c4.jsonl:1 c4.jsonl:3 " ]
    build in folder
    [ "$(quern search folder two --quiet | cut -f 2)" = part/c4.jsonl:3 ]
    [ "$(quern build - -o piped --skip all --quiet <c4.jsonl && quern search piped two --quiet | cut -f 2)" = "-:3" ]
}

@test "an id repeated within one file: the error names both places" {
    printf '{"id":"a","text":"x"}\n{"id":"b","text":"y"}\n{"id":"a","text":"z"}\n' >twice.jsonl
    for command in "build twice.jsonl -o s" "dedup twice.jsonl" "ngrams twice.jsonl" "signature twice.jsonl"; do
        # shellcheck disable=SC2086
        ends_with 3 quern $command
        says 'twice.jsonl:3: duplicate id "a"; first used in twice.jsonl:1'
        says "--ids generate gives every record the id FILE:LINE"
    done
    ends_with 2 quern build twice.jsonl -o s --ids random
    # A NUL in the id does not end the message.
    printf '{"id":"a\\u0000b","text":"x"}\n{"id":"a\\u0000b","text":"y"}\n' >nul.jsonl
    ends_with 3 quern dedup nul.jsonl
    says 'nul.jsonl:2: duplicate id "a\0b"; first used in nul.jsonl:1'
}

@test "a few files of another format do not fail a folder" {
    mkdir mixed
    for i in $(seq 40); do echo "text number $i" >"mixed/$i.txt"; done
    for i in $(seq 30); do printf '{"id":%d,"question":"which?"}\n' "$i"; done >mixed/queries.jsonl
    for i in $(seq 30); do printf '{"id":[%d],"text":"which?"}\n' "$i"; done >mixed/other.jsonl
    echo '%PDF-1.4' >mixed/a.pdf
    cp mixed/a.pdf mixed/b.pdf
    ends_with 0 quern build mixed -o store --skip all --stats stats --pdf never
    [[ $stderr == *"skipped 4 files: 2 .pdf (--pdf never), 2 .jsonl"* ]]
    [ "$(json stats 'd["counts"]["skipped: file: .pdf (--pdf never)"]')" -eq 2 ]
    [ "$(json stats 'd["counts"]["rejected"]')" -eq 0 ]
}

@test "tables with a heading are collections, and are written unchanged" {
    printf 'id,text,title\n1,"a, b\nc",T\n2,"a, b\nc",U\n3,other,V\n' >t.csv
    build t.csv store
    [ "$(quern search store other --quiet | cut -f 2,4)" = "3	V" ]
    quern dedup t.csv -o kept.csv --quiet
    printf 'id,text,title\n1,"a, b\nc",T\n3,other,V\n' | cmp - kept.csv
    printf 'text\tid\nsome words\tx\n' >t.tsv
    build t.tsv tabs
    [ "$(quern search tabs words --quiet | cut -f 2)" = x ]
}

@test "headings of graphs, topics and judgements" {
    printf 'source,target\na,b\nb,c\n' >g.csv
    [ "$(quern pagerank g.csv --quiet | cut -f 1 | sort | tr -d '\n')" = abc ]
    run --separate-stderr quern pagerank g.csv -o ranks
    [[ $stderr == *"g.csv:1: taken as a heading: source,target"* ]]
    printf 'FromNodeId\tToNodeId\tweight\n1\t2\t5\n2\t3\t1\n' >numbers.tsv
    [ "$(quern pagerank numbers.tsv --quiet | wc -l)" -eq 3 ]
    printf 'paper,reference\n1,2\n2,3\n' >odd.csv
    ends_with 3 quern pagerank odd.csv
    printf '{"_id":"d1","title":"Mill","text":"grain"}\n{"_id":"d2","text":"bread"}\n' >corpus.jsonl
    printf '{"_id":"q1","text":"grain"}\n{"_id":2,"text":"bread"}\n' >queries.jsonl
    printf 'query-id\tcorpus-id\tscore\nq1\td1\t1\n2\td2\t2\n' >test.tsv
    build corpus.jsonl store
    quern search store --topics queries.jsonl --run run --quiet
    [ "$(quern evaluate test.tsv run --quiet | head -n 1)" = "map	all	1" ]
    printf 'qid\titer\tdocid\trel\nq1\t0\td1\t1\n' >named.tsv
    [ "$(quern evaluate named.tsv run --quiet 2>/dev/null | head -n 1)" = "map	all	1" ]
    printf 'query-id\ttext\nq1\tgrain\n' >topics.tsv
    quern search store --topics topics.tsv --run other --quiet
    [ "$(cut -d ' ' -f 1 other | sort -u)" = q1 ]
}
