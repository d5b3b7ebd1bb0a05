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
