#!/usr/bin/env bats
# shellcheck disable=SC2154 # common and bats set $data, $stderr
# Models, feedback, dependence, topic fields and a BEIR folder on the command line.
load common

own_setup() {
    for i in 1 2 3 4 5 6 7 8; do
        echo "{\"id\":\"d$i\",\"text\":\"mill stone grain $(seq -s ' ' "$i" 12) flour mill w$i\"}"
    done >c.jsonl
    printf '1\tmill stone\n2\tflour w3 grain\n' >topics.tsv
    quern build c.jsonl -o store --skip all --quiet
}

@test "every model ranks, with its own parameters" {
    for model in lucene robertson atire bm25+ bm25l pl2 inl2; do
        ends_with 0 quern search store --topics topics.tsv --model "$model" --run "$model.run" --quiet
        [ "$(wc -l <"$model.run")" -eq 16 ]
    done
    refused "--delta requires --model bm25+ or bm25l" search store mill --delta 1
    refused "--c requires --model pl2 or inl2" search store mill --c 1
    refused "--k1 requires --model bm25 or a variant of it" search store mill --model pl2 --k1 1
    refused "k1: invalid value" search store mill --model atire --k1 101
    refused "--model: invalid value" search store mill --model bm26
    ends_with 0 quern search store w3 --model bm25l --delta 0.5 --k1 1.2 --format tsv --quiet
    [ "$(echo "$output" | cut -f 2)" = d3 ]
}

@test "feedback and pairs: any threads give the same run" {
    for options in "--feedback rm3" "--feedback bo1 --feedback-documents 3 --feedback-terms 5 --original-weight 0.3" \
        "--dependence sdm --model dirichlet" "--dependence sdm --feedback rm3 --window 5"; do
        # shellcheck disable=SC2086 # words of the command
        ends_with 0 quern search store --topics topics.tsv --run one.run --threads 1 --force --quiet $options
        # shellcheck disable=SC2086
        ends_with 0 quern search store --topics topics.tsv --run two.run --threads 3 --force --quiet $options
        cmp one.run two.run
    done
    refused "--feedback-terms requires --feedback" search store mill --feedback-terms 3
    refused "--window requires --dependence sdm" search store mill --window 3
    refused "order above 1 cannot be combined" search store mill --model ql --order 2 --feedback rm3
    refused "must be below 1 together" search store mill --dependence sdm --ordered-weight 0.6 --unordered-weight 0.5
}

@test "fields of TREC topics" {
    printf '<top>\n<num> Number: 1\n<title> w1\n<desc> Description:\nw2\n<narr> Narrative:\nw3\n</top>\n' >topics
    ends_with 0 quern search store --topics topics -k 1 --quiet
    [[ $output == "1 Q0 d1 "* ]]
    ends_with 0 quern search store --topics topics --topic-fields narr -k 1 --quiet
    [[ $output == "1 Q0 d3 "* ]]
    ends_with 0 quern search store --topics topics --topic-fields title,desc,narr --quiet
    [ "$(echo "$output" | wc -l)" -eq 3 ]
    refused "unknown field 'body'" search store --topics topics --topic-fields body
    ends_with 3 quern search store --topics topics.tsv --topic-fields desc
    says "topics.tsv:1: only TREC topics have fields"
}

@test "a BEIR folder: three commands" {
    mkdir -p beir/qrels
    printf '{"_id":"d1","title":"Mills","text":"the mill grinds grain"}\n{"_id":"d2","title":"","text":"bread"}\n' >beir/corpus.jsonl
    printf '{"_id":"q1","text":"grain mill","metadata":{}}\n{"_id":"q2","text":"bread","metadata":{}}\n' >beir/queries.jsonl
    printf 'query-id\tcorpus-id\tscore\nq1\td1\t1\nq2\td2\t1\n' >beir/qrels/test.tsv
    ends_with 0 quern build beir/corpus.jsonl -o beir-store --skip all --quiet
    ends_with 0 quern search beir-store --topics beir/queries.jsonl --run beir.run --quiet
    ends_with 0 quern evaluate beir/qrels/test.tsv beir.run -m nDCG@10,R@100 --quiet
    [ "$output" = "$(printf 'nDCG@10\tall\t1\nR@100\tall\t1')" ]
}
