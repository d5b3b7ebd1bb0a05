#!/usr/bin/env bats
# quern nearest: exact neighbours of vectors in files.
load common

own_setup() {
    # Six points on a line and a query between two of them; id 4 repeats id 1.
    printf 'a 0 0\nb 1 0\nc 2 0\nd 5 0\ne 1 0\nf -3 4\n' >set.txt
    printf 'q 1.5 0\nr 0 0\n' >queries.txt
}

# python SCRIPT ARGUMENTS: numpy is not needed; structs are written by hand.
write_fvecs() { # write_fvecs FILE DIMENSIONS NUMBER...
    python3 - "$@" <<'PY'
import struct, sys
path, d, values = sys.argv[1], int(sys.argv[2]), [float(v) for v in sys.argv[3:]]
with open(path, "wb") as out:
    for i in range(0, len(values), d):
        out.write(struct.pack(f"<i{d}f", d, *values[i:i + d]))
PY
}
write_bin() { # write_bin FILE CODE DIMENSIONS NUMBER...: .fbin (f), .u8bin (B), .i8bin (b)
    python3 - "$@" <<'PY'
import struct, sys
path, code, d = sys.argv[1], sys.argv[2], int(sys.argv[3])
values = [float(v) if code == "f" else int(v) for v in sys.argv[4:]]
with open(path, "wb") as out:
    out.write(struct.pack(f"<II{len(values)}{code}", len(values) // d, d, *values))
PY
}

# Angles of 1e-5 to 1e-3: sums in single precision put b and c in the wrong order, and both at 0.
@test "the smaller of two small angles comes first, with all its digits" {
    printf 'a 0.02 0.05 0.01 0.9\nb 0.02 0.05003 0.01 0.9\nc 0.02 0.050003 0.01 0.9\n' >close.txt
    quern nearest close.txt --queries close.txt -k 3 --names --metric cosine --quiet | head -n 3 | cut -f 3,4 >found
    [ "$(cut -f 1 found | tr '\n' ' ')" = "a c b " ]
    # By fractions, from the components as float32 has them.
    python3 - found <<'PY'
import struct, sys
from decimal import Decimal, getcontext
getcontext().prec = 60
single = lambda v: Decimal(struct.unpack("f", struct.pack("f", v))[0])
rows = {"a": (0.02, 0.05, 0.01, 0.9), "b": (0.02, 0.05003, 0.01, 0.9), "c": (0.02, 0.050003, 0.01, 0.9)}
rows = {name: [single(v) for v in row] for name, row in rows.items()}
dot = lambda a, b: sum(x * y for x, y in zip(a, b))
for line in open(sys.argv[1]):
    name, printed = line.split()
    true = 1 - dot(rows["a"], rows[name]) / (dot(rows["a"], rows["a"]) * dot(rows[name], rows[name])).sqrt()
    assert abs(Decimal(float(printed)) - true) <= true * Decimal(1e-7), (name, printed, true)
PY
}

@test "the nearest, ties by id, in every metric" {
    [ "$(quern nearest set.txt --queries queries.txt -k 3 --quiet | tr '\t\n' '  ')" = \
        "0 1 1 0.5 0 2 2 0.5 0 3 4 0.5 1 1 0 0 1 2 1 1 1 3 4 1 " ]
    [ "$(quern nearest set.txt --queries queries.txt -k 1 --names --quiet | tr '\t\n' '  ')" = "q 1 b 0.5 r 1 a 0 " ]
    [ "$(quern nearest set.txt --queries queries.txt -k all --metric sql2 --quiet | head -n 6 | cut -f 3,4 | tr '\t\n' '  ')" = \
        "1 0.25 2 0.25 4 0.25 0 2.25 3 12.25 5 36.25 " ]
    [ "$(quern nearest set.txt --queries queries.txt -k 3 --metric ip --quiet | head -n 3 | cut -f 3,4 | tr '\t\n' '  ')" = \
        "3 7.5 2 3 1 1.5 " ]
    [ "$(quern nearest set.txt --queries queries.txt -k 6 --metric cosine --quiet | head -n 6 | cut -f 3,4 | tr '\t\n' '  ')" = \
        "1 0 2 0 3 0 4 0 0 1 5 1.6 " ]
    [ "$(quern nearest set.txt --queries queries.txt -k all --metric l1 --quiet | head -n 6 | cut -f 3,4 | tr '\t\n' '  ')" = \
        "1 0.5 2 0.5 4 0.5 0 1.5 3 3.5 5 8.5 " ]
    [ "$(quern nearest set.txt --queries queries.txt -k all --metric linf --quiet | head -n 6 | cut -f 3,4 | tr '\t\n' '  ')" = \
        "1 0.5 2 0.5 4 0.5 0 1.5 3 3.5 5 4.5 " ]
}

@test "both methods and any number of threads write the same bytes" {
    awk 'BEGIN { srand(3); for (i = 0; i < 700; i++) { printf "w%d", i; for (j = 0; j < 37; j++) printf " %.3f", int(6 * rand()) - 2.5; print "" } }' >v.txt
    head -n 20 v.txt >q.txt
    for metric in l2 ip cosine l1 linf; do
        quern nearest v.txt --queries q.txt -k all --metric $metric --quiet --threads 1 >one
        [ "$(wc -l <one)" -eq 14000 ]
        quern nearest v.txt --queries q.txt -k all --metric $metric --quiet --threads 3 >three
        cmp one three
        quern nearest v.txt --queries q.txt -k all --metric $metric --quiet --method reduction >reduction
        cmp one reduction
        quern nearest v.txt --queries q.txt -k 25 --metric $metric --quiet >some
        awk -F '\t' '$2 <= 25' one | cmp - some
    done
}

@test "within a radius, and only allowed rows" {
    [ "$(quern nearest set.txt --queries queries.txt --radius 1 --quiet | cut -f 1,3 | tr '\t\n' '  ')" = "0 1 0 2 0 4 1 0 1 1 1 4 " ]
    [ "$(quern nearest set.txt --queries queries.txt --radius 2 --metric ip --quiet | cut -f 1,3 | tr '\t\n' '  ')" = "0 3 0 2 " ]
    printf '3\n0\n' >allowed
    [ "$(quern nearest set.txt --queries queries.txt --allow allowed --quiet | cut -f 1,3 | tr '\t\n' '  ')" = "0 0 0 3 1 0 1 3 " ]
    printf 'q 0.5 0.75\n' >far.txt
    ends_with 1 quern nearest set.txt --queries far.txt --radius 0.25
    # Within a radius all are meant, not the first ten.
    awk 'BEGIN { for (i = 0; i < 30; i++) print "w" i, i }' >line.txt
    [ "$(quern nearest line.txt --queries line.txt --radius 29 --quiet | wc -l)" -eq 900 ]
    [ "$(quern nearest line.txt --queries line.txt --radius 29 -k 4 --quiet | wc -l)" -eq 120 ]
    printf '6\n' >allowed
    ends_with 3 quern nearest set.txt --queries queries.txt --allow allowed
    [[ $stderr == *allowed*6* ]]
}

@test "binary files: the same vectors, the same lines" {
    write_fvecs set.fvecs 2 0 0 1 0 2 0 5 0 1 0 -3 4
    write_bin set.fbin f 2 0 0 1 0 2 0 5 0 1 0 -3 4
    write_bin q.fbin f 2 1.5 0 0 0
    quern nearest set.txt --queries queries.txt -k all --quiet >expected
    quern nearest set.fvecs --queries q.fbin -k all --quiet | cmp - expected
    quern nearest set.fbin --queries q.fbin -k all --quiet | cmp - expected
    gzip -k set.fbin
    quern nearest set.fbin.gz --queries q.fbin -k all --quiet | cmp - expected
}

@test "files of different types are compared without changing any value" {
    write_bin set.u8bin B 2 0 0 1 0 2 0 5 0
    write_fvecs set.fvecs 2 0 0 1 0 2 0 5 0
    write_fvecs whole.fvecs 2 1 0 200 7
    write_bin whole.u8bin B 2 1 0 200 7
    write_fvecs halves.fvecs 2 1.5 0 -0.25 7
    quern nearest set.u8bin --queries whole.u8bin -k all --metric sql2 --quiet >expected
    run --separate-stderr quern nearest set.u8bin --queries whole.fvecs -k all --metric sql2
    [ "$status" -eq 0 ]
    [ "$output" = "$(<expected)" ]
    [[ $stderr == *whole.fvecs*"float32 values became uint8"* ]]
    quern nearest set.fvecs --queries halves.fvecs -k all --quiet >expected
    run --separate-stderr quern nearest set.u8bin --queries halves.fvecs -k all
    [ "$status" -eq 0 ]
    [ "$output" = "$(<expected)" ]
    [[ $stderr == *set.u8bin*"uint8 values became float32"* ]]
}

@test "integers are exact, and hamming counts bits of bytes" {
    write_bin set.u8bin B 3 0 0 0 255 255 255 1 2 3 255 0 0
    write_bin q.u8bin B 3 255 1 0
    [ "$(quern nearest set.u8bin --queries q.u8bin -k all --metric sql2 --quiet | cut -f 3,4 | tr '\t\n' '  ')" = \
        "3 1 2 64526 0 65026 1 129541 " ]
    [ "$(quern nearest set.u8bin --queries q.u8bin -k all --metric ip --quiet | cut -f 3,4 | tr '\t\n' '  ')" = \
        "1 65280 3 65025 2 257 0 0 " ]
    [ "$(quern nearest set.u8bin --queries q.u8bin -k all --metric hamming --quiet | cut -f 3,4 | tr '\t\n' '  ')" = \
        "3 1 0 9 2 11 1 15 " ]
}

@test "sparse vectors give the same results as dense ones" {
    printf '%%%%MatrixMarket matrix coordinate real general\n3 4 4\n1 1 1.5\n2 4 -2\n2 2 0.1\n3 3 7\n' >set.mtx
    printf '%%%%MatrixMarket matrix coordinate real general\n1 4 2\n1 2 0.7\n1 4 1\n' >q.mtx
    printf 'a 1.5 0 0 0\nb 0 0.1 0 -2\nc 0 0 7 0\n' >dense.txt
    printf 'q 0 0.7 0 1\n' >q.txt
    for metric in l2 sql2 ip cosine l1 linf; do
        quern nearest set.mtx --queries q.mtx -k all --metric $metric --quiet >sparse
        quern nearest dense.txt --queries q.txt -k all --metric $metric --quiet | cmp - sparse
    done
}

@test "matrices as output, ground truth as input" {
    quern nearest set.txt --queries queries.txt -k 4 -o found.ibin --quiet
    [ "$(od -An -tu4 found.ibin | tr -s ' \n' ' ')" = " 2 4 1 2 4 0 0 1 4 2 " ]
    [ "$(od -An -tf4 -j 8 -N 16 found.fbin | tr -s ' \n' ' ')" = " 0.5 0.5 0.5 1.5 " ]
    quern nearest set.txt --queries queries.txt -k 4 --truth found.ibin --stats stats >/dev/null
    [ "$(json stats 'd["measures"]["recall"]')" = 1.0 ]
    # Id 4 instead of 2 is a tie for the first query; for the second, 3 is wrong.
    printf '1 4\n0 3\n' >truth.txt
    run --separate-stderr quern nearest set.txt --queries queries.txt -k 2 --truth truth.txt --stats stats
    [ "$status" -eq 0 ]
    [ "$(json stats 'd["measures"]["recall"], d["counts"]["truth_ties"], d["counts"]["truth_worse"]')" = "(0.5, 1, 1)" ]
    [[ $stderr == *"recall@2: 0.5 (2 of 4)"* ]]
    ends_with 2 quern nearest set.txt --queries queries.txt -o found.ibin
    quern nearest set.txt --queries queries.txt -k 4 -o found.ibin --force --quiet
    ends_with 2 quern nearest set.txt --queries queries.txt --radius 1 -o x.ibin
    ends_with 2 quern nearest set.txt --queries queries.txt --names -o x.ibin
    [ ! -e x.ibin ] && [ ! -e x.fbin ]
}

@test "text from standard input, and from a file whose name says nothing" {
    quern nearest set.txt --queries queries.txt >expected
    quern nearest - --queries queries.txt <set.txt | cmp - expected
    quern nearest set.txt --queries - < <(gzip -c queries.txt) | cmp - expected
    cut -d ' ' -f 2- set.txt | tr ' ' , >numbers
    sed 's/,/, /' numbers | quern nearest - --queries queries.txt | cmp - <(quern nearest numbers --queries queries.txt)
    printf '{"vector":[1.5,0]}\n{"vector":[0,0]}\n' >json
    quern nearest numbers --queries json | cmp - expected
    printf '\xEF\xBB\xBF{"vector":[1.5,0]}\n{"vector":[0,0]}\n' | quern nearest numbers --queries - | cmp - expected
    printf '\xEF\xBB\xBF{"vector":[1.5,0]}\n{"vector":[0,0]}\n' >marked.jsonl
    quern nearest numbers --queries marked.jsonl | cmp - expected
    printf 'not a vector\n' >words
    run quern nearest words --queries words
    [ "$status" -eq 2 ]
    [[ $output == *"words: neither its name nor its first bytes say what format it has"* ]]
}

@test "errors are reported precisely" {
    printf 'a 1 2\nb nan 3\n' >bad.txt
    ends_with 3 quern nearest bad.txt --queries queries.txt
    [[ $stderr == *bad.txt*"row 1"* ]]
    printf 'a 1 2\nb 3\n' >bad.txt
    ends_with 3 quern nearest bad.txt --queries queries.txt
    [[ $stderr == *bad.txt:2:* ]]
    printf 'q 1 2 3\n' >three.txt
    ends_with 2 quern nearest set.txt --queries three.txt
    [[ $stderr == *"set.txt is of 2 dimensions, but three.txt is of 3 dimensions"* ]]
    write_bin bytes.u8bin B 2 1 2
    quern nearest bytes.u8bin --queries bytes.u8bin --metric hamming --quiet
    ends_with 2 quern nearest . --queries queries.txt
    [[ $stderr == *"is a folder"* ]]
    ends_with 2 quern nearest set.txt --queries queries.txt -k ALL
    [[ $stderr == *"invalid value 'ALL' (expected all or a whole number"* ]]
    printf '1 1\n2 0\n' >twice.txt
    ends_with 3 quern nearest set.txt --queries queries.txt --truth twice.txt
    [[ $stderr == *twice.txt*"query 0 repeats the id 1"* ]]
    ends_with 2 quern nearest set.txt
    ends_with 2 quern nearest missing.npy --queries queries.txt
    ends_with 2 quern nearest set.txt --queries queries.txt -k 0
    ends_with 2 quern nearest set.txt --queries queries.txt --metric hamming
    ends_with 2 quern nearest set.txt --queries queries.txt --radius nan
    write_bin set.fbin f 2 0 0 1 0
    printf '\377\377\377\177' | dd of=set.fbin conv=notrunc status=none
    ends_with 3 quern nearest set.fbin --queries queries.txt
    [[ $stderr == *set.fbin*offset* ]]
}
