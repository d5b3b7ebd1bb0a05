#!/usr/bin/env bats
# quern fuse: TREC runs fused, topic by topic.
load common

own_setup() {
    printf '1 Q0 b 1 24 x\n1 Q0 a 2 13 x\n2 Q0 c 1 99 x\n' >one.run
    printf '1 Q0 b 1 2.4 y\n1 Q0 a 3 1.3 y\n3 Q0 c 1 3.3 y\n' >two.run
}

@test "every rule of a small example" {
    [ "$(quern fuse one.run two.run --quiet)" = "1 Q0 b 1 26.4 quern
1 Q0 a 2 14.3 quern
2 Q0 c 1 99 quern
3 Q0 c 1 3.3 quern" ]
    [ "$(quern fuse one.run two.run --aggregate mean --quiet | cut -d ' ' -f 5 | tr '\n' ' ')" = "13.2 7.15 49.5 1.65 " ]
    [ "$(quern fuse one.run two.run --aggregate rrf --quiet | cut -d ' ' -f 5 | tr '\n' ' ')" = \
        "0.03278688524590164 0.03225806451612903 0.01639344262295082 0.01639344262295082 " ]
    [ "$(quern fuse one.run two.run --aggregate rrf --ranks field --quiet | cut -d ' ' -f 5 | tr '\n' ' ')" = \
        "0.03278688524590164 0.03200204813108039 0.01639344262295082 0.01639344262295082 " ]
    [ "$(quern fuse one.run two.run --weight 0.4,0.6 --quiet | head -n 2 | cut -d ' ' -f 5 | tr '\n' ' ')" = "11.040000000000001 5.98 " ]
    [ "$(quern fuse one.run two.run --normalize minmax --aggregate mnz --quiet | cut -d ' ' -f 3,5 | tr '\n' ' ')" = "b 4 a 0 c 1 c 1 " ]
    [ "$(quern fuse one.run two.run --aggregate borda -k 1 --quiet | cut -d ' ' -f 1,3,5 | tr '\n' ' ')" = "1 b 4 2 c 2 3 c 2 " ]
}

@test "weights of a topic, and topics that a run lacks" {
    printf '1\t0\t1\n' >weights
    run --separate-stderr quern fuse one.run two.run --topic-weights weights --stats stats
    [ "${lines[0]}" = "1 Q0 b 1 2.4 quern" ]
    [[ $stderr == *"one.run lacks 1 of 3 topics"* ]] && [[ $stderr == *"two.run lacks 1 of 3 topics"* ]]
    [ "$(json stats 'd["counts"]["missing_topics"], d["counts"]["lines_read"]')" = "(2, 6)" ]
    printf '1\t0\n' >weights
    ends_with 3 quern fuse one.run two.run --topic-weights weights
    [[ $stderr == *weights:1:* ]]
}

@test "ties stand by id, numbers as numbers, and ranks are by score and id" {
    printf '1 Q0 10 1 5 x\n1 Q0 9 2 5 x\n' >ties.run
    [ "$(quern fuse ties.run --quiet | cut -d ' ' -f 3 | tr '\n' ' ')" = "9 10 " ]
    [ "$(quern fuse ties.run --aggregate rrf --constant 0 --quiet | cut -d ' ' -f 3,5 | tr '\n' ' ')" = "9 1 10 0.5 " ]
    printf '1 Q0 10 1 5 x\n1 Q0 9a 2 5 x\n' >ties.run
    [ "$(quern fuse ties.run --quiet | cut -d ' ' -f 3 | tr '\n' ' ')" = "10 9a " ]
    # The order of lines does not matter, nor how the file is compressed, nor the threads.
    awk 'BEGIN { srand(2); for (t = 0; t < 30; t++) for (d = 0; d < 90; d++) if (rand() < 0.6) print t, "Q0", "d" d, 1, int(rand() * 30), "x" }' >a.run
    awk 'BEGIN { srand(3); for (t = 0; t < 30; t++) for (d = 0; d < 90; d++) if (rand() < 0.6) print t, "Q0", "d" d, 1, rand(), "x" }' >b.run
    quern fuse a.run b.run --aggregate rrf --quiet --threads 1 >expected
    sort -s -k 1,1n -k 3,3r a.run | gzip >a.run.gz
    quern fuse a.run.gz b.run --aggregate rrf --quiet --threads 4 | cmp - expected
}

@test "bad lines are named" {
    for line in '1 Q0 a 1' '1 Q0 a 1 nan x' '1 Q0 a 1 1e999 x' '1 Q0 a 1 5x t'; do
        printf '1 Q0 b 1 3 x\n%s\n' "$line" >bad.run
        ends_with 3 quern fuse one.run bad.run -o out.run
        [[ $stderr == *bad.run:2:* ]]
    done
    printf '1 Q0 b 1 3 x\n1 Q0 a 1 2 x\n1 Q0 b 1 1 x\n' >bad.run
    ends_with 3 quern fuse one.run bad.run -o out.run
    [[ $stderr == *"bad.run:3: document b again in topic 1"* ]]
    [ ! -e out.run ]
    printf '1 Q0 b first 3 x\n' >bad.run
    quern fuse bad.run --aggregate rrf >/dev/null
    ends_with 3 quern fuse bad.run --aggregate rrf --ranks field
    [[ $stderr == *"bad.run:1: the rank is not a number"* ]]
    ends_with 2 quern fuse
    ends_with 2 quern fuse one.run missing.run
    ends_with 2 quern fuse one.run two.run --weight 1
    ends_with 2 quern fuse one.run --aggregate best
    ends_with 2 quern fuse one.run --device cuda
    ends_with 2 quern fuse one.run -o one.run
}
