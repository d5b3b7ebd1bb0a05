#!/usr/bin/env bats
# shellcheck disable=SC2154 # common sets $data
# quern pagerank: ranks of graphs and stores, options, bad input.
load common

# sum FIELD: of the rows on standard input.
sum() { awk -F '\t' -v f="$1" '{ s += $f } END { printf "%.9f", s }'; }
# near A B TOLERANCE
near() { awk -v a="$1" -v b="$2" -v t="$3" 'BEGIN { d = a - b; if (d < 0) d = -d; exit !(d <= t) }'; }
rank_of() { awk -F '\t' -v id="$1" '$1 == id { print $2 }' "$2"; }

@test "a star by hand: the hub's rank has a closed form" {
    # Ten nodes point to 0, which points nowhere: r0 = b + 10·α·r, r = b with b = (1 − α)/11 + α·r0/11.
    for i in $(seq 1 10); do echo "$i 0"; done >star
    quern pagerank star --tolerance 1e-15 --quiet >rows
    [ "$(wc -l <rows)" -eq 11 ]
    [ "$(head -n 1 rows | cut -f 1)" = 0 ]
    near "$(rank_of 0 rows)" "$(python3 -c 'print(9.5 / 19.5)')" 1e-14
    near "$(rank_of 7 rows)" "$(python3 -c 'print(1 / 19.5)')" 1e-14
    near "$(sum 2 <rows)" 1 1e-9
    # Equal ranks: by id, as numbers.
    [ "$(tail -n 10 rows | cut -f 1 | tr '\n' ' ')" = "1 2 3 4 5 6 7 8 9 10 " ]
    [ "$(cut -f 2 rows | tail -n 10 | sort -u | wc -l)" -eq 1 ]
}

@test "names are ids too, and tie by bytes" {
    printf 'b,a\nB,a\n10,a\n9,a\n' | quern pagerank - --quiet >rows
    [ "$(cut -f 1 rows | tr '\n' ' ')" = "a 10 9 B b " ]
}

@test "the order of the lines, threads and compression have no effect" {
    awk 'BEGIN { srand(3); for (i = 0; i < 5000; i++) print int(400 * rand()^2), int(400 * rand()) }' >edges
    quern pagerank edges --tolerance 1e-12 --quiet --threads 1 >first
    shuf --random-source=edges edges | gzip >shuffled.gz
    quern pagerank shuffled.gz --tolerance 1e-12 --quiet --threads 3 >second
    cmp first second
    for storage in csr coo ell brcp; do
        quern pagerank edges --tolerance 1e-12 --quiet --storage "$storage" >"$storage"
        cmp csr "$storage"
        # The same nodes with ranks that agree to the tolerance.
        join -t $'\t' <(sort "$storage") <(sort first) | awk -F '\t' '{ d = $2 - $3; if (d < 0) d = -d; s += d } END { exit !(s < 1e-11) }'
    done
    for storage in csr coo brcp; do
        quern pagerank edges --quiet --storage "$storage" --precision f32 >"$storage.f32"
        cmp csr.f32 "$storage.f32"
    done
    quern pagerank edges --quiet --storage csr --precision f64 >f64
    run ! cmp -s f64 csr.f32
    join -t $'\t' <(sort f64) <(sort csr.f32) | awk -F '\t' '{ d = $2 - $3; if (d < 0) d = -d; s += d } END { exit !(s > 0 && s < 1e-4) }'
    quern pagerank edges --storage brc --quiet | sum 2 | grep -q '^1\.0000'
    quern pagerank edges --storage brcp-paper --quiet | sum 2 | grep -q '^1\.0000'
}

@test "each line is a link: repeats count, links to oneself stay" {
    printf '0 1\n0 1\n0 2\n' | quern pagerank - --quiet >rows
    [ "$(awk -F '\t' '$1 == 1 { a = $2 } $1 == 2 { b = $2 } END { print (a > b) }' rows)" = 1 ]
    printf '0 0\n0 1\n1 0\n' | quern pagerank - --quiet --stats stats --tolerance 1e-14 >rows
    [ "$(json stats 'd["counts"]["self_loops"], d["counts"]["links"], d["counts"]["nodes"]')" = "(1, 3, 2)" ]
    [ "$(head -n 1 rows | cut -f 1)" = 0 ]
}

@test "weights, if requested" {
    printf '0 1 3\n0 2 1\n1 0 1\n2 0 1\n' >weighted
    quern pagerank weighted --quiet >plain
    quern pagerank weighted --weighted --quiet >rows
    [ "$(rank_of 1 plain)" = "$(rank_of 2 plain)" ]
    [ "$(awk -F '\t' '$1 == 1 { a = $2 } $1 == 2 { b = $2 } END { print (a > 1.5 * b) }' rows)" = 1 ]
    ends_with 3 quern pagerank <(printf '0 1 1\n0 2\n') --weighted
    says ":2: "
    for weight in nan inf -1 0 x; do
        ends_with 3 quern pagerank <(printf '0 1 1\n\n0 2 %s\n' "$weight") --weighted
        says ":3: "
    done
}

@test "preference, warm start and the dangling rules" {
    printf '0 1\n1 2\n2 0\n2 3\n4 0\n' >edges
    printf '2\t3\n3\n' >seeds
    quern pagerank edges --personalize seeds --dangling preference --quiet --tolerance 1e-14 >rows
    near "$(sum 2 <rows)" 1 1e-12
    near "$(rank_of 4 rows)" 0 0
    quern pagerank edges --dangling none --quiet | sum 2 | grep -q '^0\.'
    # A start that is the answer: fewer iterations, the same ranks within the tolerance.
    quern pagerank edges --tolerance 1e-10 --quiet --stats cold >ranks
    quern pagerank edges --tolerance 1e-10 --quiet --warm ranks --stats warm >again
    [ "$(json warm 'd["counts"]["iterations"]')" -lt "$(json cold 'd["counts"]["iterations"]')" ]
    paste ranks again | awk -F '\t' '{ if ($1 != $3) exit 1; d = $2 - $4; if (d < 0) d = -d; s += d } END { exit !(s < 1e-9) }'
    ends_with 3 quern pagerank edges --personalize <(printf '2\nnobody\n')
    says ":2: 'nobody' is not a node of the graph"
    ends_with 3 quern pagerank edges --personalize <(printf '2 0.5\n')
    says ":1: '2 0.5' is not a node of the graph (expected an id, or an id, a tab and a number)"
    ends_with 3 quern pagerank edges --personalize <(printf '2\t1\n2\t1\n')
    ends_with 3 quern pagerank edges --personalize <(printf '2\t-1\n')
    ends_with 3 quern pagerank edges --personalize <(printf '2\t0\n')
    ends_with 3 quern pagerank edges --personalize <(printf '2\t1e400\n')
    says "is not a finite number"
    ends_with 2 quern pagerank edges --personalize missing
    ends_with 2 quern pagerank - --personalize - <edges
    says "standard input (-) can be given only once"
    [ "$(quern pagerank edges --personalize <(printf '2\t+3\n3\t1e-400\n') --quiet)" = "$(quern pagerank edges --personalize <(echo 2) --quiet)" ]
    run --separate-stderr quern pagerank edges --warm <(printf '0\t1\ngone\t1\n')
    [ "$status" -eq 0 ] && [[ $stderr == *"1 id not in the graph"* ]]
}

@test "missing convergence is reported, with the result" {
    printf '0 1\n1 2\n2 0\n3 0\n' >edges
    run --separate-stderr quern pagerank edges --max-iterations 2 --tolerance 1e-9 --stats stats
    [ "$status" -eq 0 ]
    [ "${#lines[@]}" -eq 4 ]
    [[ $stderr == *"not converged after 2 iterations: the last change was"* ]]
    [ "$(json stats 'd["converged"], d["counts"]["iterations"]')" = "(False, 2)" ]
    quern pagerank edges --stats stats --quiet >rows
    [ "$(json stats 'd["converged"], d["measures"]["error_bound"] > 0')" = "(True, True)" ]
    # A tolerance below what the arithmetic has digits for: it ends, and says why.
    run --separate-stderr quern pagerank edges --tolerance 1e-300 --stats stats
    [ "$status" -eq 0 ]
    [ "${#lines[@]}" -eq 4 ]
    [[ $stderr == *"rounding alone changes the ranks by"* ]]
    [ "$(json stats 'd["converged"], d["counts"]["iterations"] < 1000')" = "(False, True)" ]
}

@test "hits: authorities and hubs" {
    printf 'h1 a\nh1 b\nh2 a\nh3 a\n' >edges
    quern pagerank edges --method hits --tolerance 1e-12 --quiet >rows
    [ "$(head -n 1 rows | cut -f 1)" = a ]
    near "$(sum 2 <rows)" 1 1e-9 && near "$(sum 3 <rows)" 1 1e-9
    # h1 points to both authorities.
    [ "$(sort -t $'\t' -k 3,3gr rows | head -n 1 | cut -f 1)" = h1 ]
    ends_with 2 quern pagerank edges --method hits --damping 0.5
    says "--damping cannot be combined with --method hits"
}

@test "Matrix Market: all n nodes, entry (i, j) is a link from i to j" {
    printf '%%%%MatrixMarket matrix coordinate pattern general\n%% a comment\n4 4 2\n1 2\n3 2\n' >m.mtx
    quern pagerank m.mtx --quiet >rows
    [ "$(cut -f 1 rows | tr '\n' ' ')" = "2 1 3 4 " ]
    ends_with 3 quern pagerank <(printf '%%%%MatrixMarket matrix coordinate pattern general\n4 4 2\n1 2\n')
    ends_with 3 quern pagerank <(printf '%%%%MatrixMarket matrix coordinate pattern general\n4 4 1\n1 5\n')
    says ":3: "
    ends_with 3 quern pagerank <(printf '%%%%MatrixMarket matrix coordinate pattern general\n4 5 1\n1 5\n')
}

@test "the links of a store" {
    printf '%s\n' '{"id":"a","text":"x","links":["b"]}' '{"id":"b","text":"y","links":["c","nowhere"]}' \
        '{"id":"c","text":"z","links":["b"]}' '{"id":"d","text":"u"}' >corpus.jsonl
    build corpus.jsonl store
    quern pagerank store --quiet >rows
    [ "$(cut -f 1 rows | tr '\n' ' ')" = "b c a d " ]
    quern pagerank store --personalize <(echo d) --dangling preference --quiet >rows
    near "$(rank_of d rows)" 1 1e-12
    ends_with 2 quern pagerank store --weighted
    ends_with 2 quern pagerank store --input-format edges
    printf 'x' | dd of=store/links.section bs=1 seek=3 conv=notrunc status=none
    ends_with 5 quern pagerank store
}

@test "sizes that do not fit are rejected, and no stage uses another's memory" {
    printf '%%%%MatrixMarket matrix coordinate pattern general\n4294967290 4294967290 1\n1 2\n' >large.mtx
    ends_with 4 quern pagerank large.mtx --memory 1G
    printf '%%%%MatrixMarket matrix coordinate pattern general\n4000000000 4000000000 9000000000000\n1 2\n' >lie.mtx
    ends_with 4 quern pagerank lie.mtx --memory 1G
    says "a graph of 9,000,000,000,000 links"
    # 2.4 MB of links as they were read, 1.2 MB sorted, and 2.4 MB to sort them.
    awk 'BEGIN { for (i = 0; i < 300000; i++) print i % 1000, (i * 7919) % 1009 }' >edges
    ends_with 4 quern pagerank edges --memory 5M
    # In doubles a link takes 8 bytes for its share, and 12 in the matrix.
    ends_with 4 quern pagerank edges --memory 7000K --threads 1 --storage csr
    quern pagerank edges --memory 7000K --threads 1 --quiet >rows
    cmp rows <(quern pagerank edges --quiet)
}

@test "empty graphs" {
    quern pagerank <(printf '# nothing\n') --quiet >rows
    [ ! -s rows ]
    printf '%%%%MatrixMarket matrix coordinate pattern general\n2 2 0\n' | quern pagerank - --quiet >rows
    [ "$(cat rows)" = $'1\t0.5\n2\t0.5' ]
}

@test "bad input: the error has file, line and reason, and nothing is written" {
    printf '0 1\n1\n' >edges
    ends_with 3 quern pagerank edges -o ranks
    says "edges:2: "
    [ ! -e ranks ]
    ends_with 3 quern pagerank <(printf '0 1\n-1 2\n')
    says ":2: "
    printf '0 1\n1 2\n' | gzip | head -c 20 >cut.gz
    ends_with 3 quern pagerank cut.gz
    ends_with 2 quern pagerank missing
    ends_with 2 quern pagerank
    ends_with 2 quern pagerank edges --damping 1
    ends_with 2 quern pagerank edges --tolerance 0
    ends_with 2 quern pagerank edges --storage dense
    ends_with 2 quern pagerank edges --precision f32
    says "--precision f32 has no effect on --storage auto"
    ends_with 2 quern pagerank edges --storage csr --precision f16
    ends_with 2 quern pagerank edges --method hits --precision f64
    says "--precision cannot be combined with --method hits"
    ends_with 2 quern pagerank edges --max-iterations 0
}

@test "rows in every format" {
    printf '0 1\n1 0\n' >edges
    [ "$(quern pagerank edges --quiet --format jsonl | head -n 1)" = '{"id":"0","rank":0.5}' ]
    quern pagerank edges --quiet --format table | grep -q 'id *rank'
    quern pagerank edges --quiet -o rows
    ends_with 2 quern pagerank edges --quiet -o rows
    ends_with 2 quern pagerank edges -o edges --force
}

@test "a binary file is reported as such" {
    python3 -c '
import sys
header = "{\x27descr\x27: \x27<i8\x27, \x27fortran_order\x27: False, \x27shape\x27: (2, 2), }".ljust(117) + "\n"
open("links.npy", "wb").write(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode() + bytes(32))'
    ends_with 3 quern pagerank links.npy
    says "links.npy: a NumPy array; a graph is lines of source and target, as numpy.savetxt"
    printf 'PK\3\4 and more\n' >links.npz
    ends_with 3 quern pagerank links.npz
    says "links.npz: a zip archive, such as .npz"
    printf 'PAR1\025 x\n' >links
    ends_with 3 quern pagerank links
    says "a Parquet file"
    printf 'PAR1 x\n' >links # a node of that name
    ends_with 0 quern pagerank links
}
