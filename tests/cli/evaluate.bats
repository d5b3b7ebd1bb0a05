#!/usr/bin/env bats
# shellcheck disable=SC2154 # common and bats set $data, $stderr
# quern evaluate where judgements and run do not fit together.
load common

@test "nothing in common: 1, with ids of both sides and their difference" {
    printf '1 0 a1 1\n1 0 b2 0\n2 0 c3 1\n' >qrels
    printf '1 Q0 a1.html 1 3 x\n1 Q0 b2.html 2 2 x\n2 Q0 d4.html 1 1 x\n' >run
    ends_with 1 quern evaluate qrels run -o out --stats s.json
    [ -z "$output" ]
    [ ! -e out ]
    says "nothing found: qrels and run have no document of the same topic in common"
    says "like 'a1', those of the run like 'a1.html'; without the endings of files 2 of them would be equal"
    [ "$(json s.json "d['counts']['judged_documents_retrieved']")" -eq 0 ]
    sed 's/\.html//; s/^/q0/' run >other
    ends_with 1 quern evaluate qrels other
    says "have no topic in common; the topics of the judgements are like '1', those of the run like 'q01'; as numbers alone 2"
    sed 's/\.html//' run >right
    ends_with 0 quern evaluate qrels right
    [ -z "$stderr" ]
}

@test "little in common is a warning with counts" {
    for i in $(seq 40); do echo "1 0 d$i 1"; done >qrels
    { echo "1 Q0 d1 1 2 x"; for i in $(seq 40); do echo "1 Q0 e$i 2 1 x"; done; } >run
    ends_with 0 quern evaluate qrels run
    says "warning: little overlap: 1 of 1 judged topics and 1 in the run; of their 40 judged and 41 retrieved documents, 1 in common."
    for i in 2 3 4; do echo "$i 0 d1 1" >>qrels; echo "1$i Q0 d1 1 1 x" >>run; done
    ends_with 0 quern evaluate qrels run
    says "1 of 4 judged topics and 4 in the run"
    [[ $stderr == *"3 judged topics are missing in the run"* ]]
}

@test "measures by name, of several runs" {
    printf '1 0 a 2\n1 0 b 0\n2 0 c 1\n3 0 a 1\n' >qrels
    printf '1 Q0 b 1 3 x\n1 Q0 a 2 2 x\n2 Q0 c 1 1 x\n' >one
    printf '1 Q0 a 1 3 x\n1 Q0 b 2 2 x\n2 Q0 d 1 1 x\n2 Q0 c 2 0.5 x\n' >two
    ends_with 0 quern evaluate qrels one -m 'RR,nDCG@1,AP(rel=2)' -m P_5 --quiet
    [ "$output" = "$(printf 'RR\tall\t0.75\nnDCG@1\tall\t0.5\nAP(rel=2)\tall\t0.25\nP_5\tall\t0.2')" ]
    ends_with 0 quern evaluate qrels one -m RR --complete
    [ "$output" = "$(printf 'RR\tall\t0.5')" ]
    says "1 judged topics are missing in the run and count as 0: 3"
    ends_with 0 quern evaluate qrels one two -m RR,NumRet --per-topic --quiet
    [ "$output" = "$(printf 'one\t1\t0.5\t2\none\t2\t1\t1\none\tall\t0.75\t3\ntwo\t1\t1\t2\ntwo\t2\t0.5\t2\ntwo\tall\t0.75\t4')" ]
}

@test "tests of differences, and a page" {
    for t in 1 2 3 4 5 6; do
        echo "$t 0 a 1" >>qrels
        printf "$t Q0 %s 1 3 x\n$t Q0 %s 2 2 x\n" b a >>one
        if [ "$t" = 1 ]; then printf "$t Q0 b 1 3 x\n" >>two; else printf "$t Q0 a 1 3 x\n" >>two; fi
    done
    ends_with 0 quern evaluate qrels one two one -m RR --test randomization --correction none --quiet --report page.html
    [ "$(echo "$output" | sed -n 2p | cut -f 1-4,8-10)" = "$(printf 'RR\ttwo\t0.8333333333333334\t0.3333333333333333\t0.21875\t0.21875\t6')" ]
    [ "$(echo "$output" | sed -n 3p | cut -f 8,9)" = "$(printf '1\t1')" ]
    grep -q '<svg' page.html
    grep -q 'two − one, by topic' page.html
    ends_with 0 quern evaluate qrels one two -m RR --test t --quiet --format jsonl
    [[ $output == *'"p":0.10193947882985'* ]]
    refused "--test compares runs" evaluate qrels one --test t
    refused "--correction requires --test" evaluate qrels one two --correction holm
    refused "write different rows" evaluate qrels one two --test t --per-topic
}
