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
    for weights in '0.4, 0.6' ' 0.4 0.6' '0.4 ,0.6 '; do
        quern fuse one.run two.run --weight "$weights" --quiet | cmp - <(quern fuse one.run two.run --weight 0.4,0.6 --quiet)
    done
    for weights in '0.4,,0.6' '0.4,' ',' '0.4;0.6'; do
        ends_with 2 quern fuse one.run two.run --weight "$weights"
        says "(expected a number)"
    done
    [ "$(quern fuse one.run two.run --normalize minmax --aggregate mnz --quiet | cut -d ' ' -f 3,5 | tr '\n' ' ')" = "b 4 a 0 c 1 c 1 " ]
    [ "$(quern fuse one.run two.run --aggregate borda -k 1 --quiet | cut -d ' ' -f 1,3,5 | tr '\n' ' ')" = "1 b 4 2 c 2 3 c 2 " ]
}

@test "weights of a topic, and topics missing from a run" {
    printf '1\t0\t1\n' >weights
    run --separate-stderr quern fuse one.run two.run --topic-weights weights --stats stats
    [ "${lines[0]}" = "1 Q0 b 1 2.4 quern" ]
    [[ $stderr == *"one.run lacks 1 of 3 topics"* ]]
    [[ $stderr == *"two.run lacks 1 of 3 topics"* ]]
    [ "$(json stats 'd["counts"]["missing_topics"], d["counts"]["lines_read"]')" = "(2, 6)" ]
    printf '1\t0\n' >weights
    ends_with 3 quern fuse one.run two.run --topic-weights weights
    [[ $stderr == *weights:1:* ]]
}

@test "ties are ordered by id, numbers as numbers, and ranks by score and id" {
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

@test "bad lines are reported" {
    for line in '1 Q0 a 1' '1 Q0 a 1 5' '1 Q0 a 1 nan x' '1 Q0 a 1 -inf x' '1 Q0 a 1 1e999 x' '1 Q0 a 1 5x t' '1 Q0 a 1 1,5 t'; do
        printf '1 Q0 b 1 3 x\n%s\n' "$line" >bad.run
        ends_with 3 quern fuse one.run bad.run -o out.run
        [[ $stderr == *bad.run:2:* ]]
    done
    printf '1 Q0 b 1 3 x\n\r\n1 Q0 a 1 2 x\r\n1 Q0 b 1 1 x\n' >bad.run
    ends_with 3 quern fuse one.run bad.run -o out.run
    says 'bad.run:4: duplicate document "b" in topic "1"'
    printf '1 Q0 b 1 1 x\n1 Q0 a 2 3 x\n1 Q0 b 3 5 x\n' >rising.run
    ends_with 3 quern fuse one.run rising.run -o out.run
    says 'rising.run:3: duplicate document "b" in topic "1"'
    gzip -c bad.run >bad.run.gz
    ends_with 3 quern fuse one.run bad.run.gz -o out.run
    says 'bad.run.gz:4: duplicate document "b" in topic "1"'
    head -c 40 bad.run.gz >cut.run.gz
    ends_with 3 quern fuse one.run cut.run.gz -o out.run
    says "cut.run.gz: gzip data are truncated"
    printf '1 Q0 a 1 1e308 x\n' >huge.run
    ends_with 3 quern fuse huge.run huge.run -o out.run
    says "huge.run:1: the fused score of its document exceeds the range of double"
    [ ! -e out.run ]
    ends_with 2 quern fuse
    ends_with 2 quern fuse one.run missing.run
    ends_with 2 quern fuse one.run two.run --weight 1
    ends_with 2 quern fuse one.run --aggregate best
    ends_with 2 quern fuse one.run --device cuda
    ends_with 2 quern fuse one.run -o one.run
}

@test "of several bad runs and topics the first is reported, whatever the threads" {
    for t in 1 2 3 4 5 6 7 8 9; do printf "$t Q0 a 1 5 x\n$t Q0 a 2 4 x\n"; done >twice.run
    printf '1 Q0 b 1 3 x\n2 Q0 b 1 x\n' >short.run
    for threads in 1 3 8; do
        ends_with 3 quern fuse one.run twice.run --threads $threads -o out.run
        says 'twice.run:2: duplicate document "a" in topic "1"'
        ends_with 3 quern fuse short.run missing.run twice.run --threads $threads -o out.run
        says "short.run:2: a line of a run is"
        ends_with 2 quern fuse missing.run short.run twice.run --threads $threads -o out.run
        says "missing.run: no such file"
    done
}

@test "ranks of the lines: numbers, 0 too" {
    printf '1 Q0 b first 3 x\n' >bad.run
    quern fuse bad.run --aggregate rrf >/dev/null
    ends_with 3 quern fuse bad.run --aggregate rrf --ranks field
    says "bad.run:1: the rank is not a number"
    printf '1 Q0 a 0 3 x\n1 Q0 b 1 2 x\n' >zero.run
    [ "$(quern fuse zero.run --aggregate rrf --ranks field --constant 1 --quiet | cut -d ' ' -f 3,5 | tr '\n' ' ')" = "a 1 b 0.5 " ]
    ends_with 3 quern fuse zero.run --aggregate rrf --ranks field --constant 0
    says "zero.run:1: the rank and the constant of reciprocal ranks are both 0"
    [ "$(quern fuse zero.run --aggregate borda --ranks field --quiet | cut -d ' ' -f 3,5 | tr '\n' ' ')" = "a 3 b 2 " ]
}

@test "runs in any form: CR LF, a byte order mark, any bytes, topics in pieces, empty" {
    printf '\xef\xbb\xbf1\tQ0\tb\t1\t24\tx\r\n2 Q0 c 1 99 x\r\n\r\n1  Q0  a  2  13  a tag of words' >odd.run
    quern fuse one.run --quiet >expected
    quern fuse odd.run --quiet | cmp - expected
    quern fuse - --quiet <odd.run | cmp - expected
    mv expected odd.expected
    # Ids are bytes: what is no UTF-8 comes out as it went in, and ids that differ stay different.
    printf '1 Q0 \xc3\xa9t\xc3\xa9 1 4 x\n1 Q0 \xe9t\xe9 2 3 x\n1 Q0 \xe8t\xe9 3 2 x\n' >bytes.run
    printf '1 Q0 \xc3\xa9t\xc3\xa9 1 4 quern\n1 Q0 \xe9t\xe9 2 3 quern\n1 Q0 \xe8t\xe9 3 2 quern\n' >expected
    quern fuse bytes.run --quiet | cmp - expected
    for packer in gzip bzip2 zstd xz; do
        $packer -c <odd.run >packed.run
        quern fuse packed.run --quiet --threads 3 | cmp - odd.expected
    done
    # The memory that compressed runs take is bounded.
    head -c 8000000 /dev/zero | tr '\0' '\n' | gzip >large.run
    ends_with 4 quern fuse odd.run large.run --memory 4M --threads 1  # one after the other
    says "what large.run holds needs"
    : >empty.run
    run --separate-stderr quern fuse one.run empty.run
    [ "$status" -eq 0 ]
    [ "${#lines[@]}" -eq 3 ]
    [[ $stderr == *"empty.run lacks 2 of 2 topics; the first is 1"* ]]
    ends_with 1 quern fuse empty.run empty.run
}

@test "topics with their own weights" {
    printf '1\t0\t1\n3\t1\t-2\r\n\n' >weights
    [ "$(quern fuse one.run two.run --topic-weights weights --weight 2,2 --quiet | cut -d ' ' -f 1,3,5 | tr '\n' ' ')" = \
        "1 b 2.4 1 a 1.3 2 c 198 3 c -6.6 " ]
    for line in '1\t0' '1\t0\t1\t2' '1\t0\tx' '1\t0\tnan' '1\t0\t' '1 0 1'; do
        printf "2\t1\t1\n$line\n" >weights
        ends_with 3 quern fuse one.run two.run --topic-weights weights
        says "weights:2: "
    done
    printf '1\t0\t1\n4\t0\t1\n5\t0\t1\n' >weights
    run --separate-stderr quern fuse one.run two.run --topic-weights weights
    [ "$status" -eq 0 ]
    [[ $stderr == *"weights has weights for 2 topics missing in all runs; the first is 4"* ]]
    printf '1\t0\t1\n1\t1\t1\n' >weights
    ends_with 3 quern fuse one.run two.run --topic-weights weights
    says 'weights:2: duplicate topic "1"'
}
