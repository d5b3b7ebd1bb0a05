#!/usr/bin/env bats
# shellcheck disable=SC2154 # common sets $data
# quern spmv: products of matrices in files, in every format.
load common

own_setup() {
    # The example of the BRCP paper: four rows, the second of them empty.
    printf '%%%%MatrixMarket matrix coordinate real general\n4 4 6\n1 1 1\n1 3 2\n3 1 3\n3 2 4\n3 4 5\n4 3 6\n' >paper.mtx
}

@test "sums of rows, and a vector" {
    [ "$(quern spmv paper.mtx --quiet | tr '\n' ' ')" = "3 0 12 6 " ]
    printf '1\n10\n100\n1e3\n' >x
    [ "$(quern spmv paper.mtx --vector x --quiet | tr '\n' ' ')" = "201 0 5043 600 " ]
    [ "$(gzip -c paper.mtx | quern spmv - --precision f32 --quiet | tr '\n' ' ')" = "3 0 12 6 " ]
}

@test "a vector of NumPy is refused by name" {
    printf '\x93NUMPY\x01\x00' >x.npy
    ends_with 3 quern spmv paper.mtx --vector x.npy
    says "x.npy: a file of NumPy; a vector is one number a line"
}

@test "every format gives the same bits, except the documented ones" {
    awk 'BEGIN { srand(5); n = 300; print "%%MatrixMarket matrix coordinate real general"; print n, n, 4000
        for (k = 0; k < 4000; k++) print 1 + int(n * rand()), 1 + int(n * rand()^3), (rand() - 0.5) * 10^int(8 * rand()) }' >m.mtx
    for precision in f64 f32; do
        quern spmv m.mtx --quiet --precision $precision >auto
        for storage in coo csr ell brcp; do
            quern spmv m.mtx --quiet --precision $precision --storage $storage --threads 3 --repeat 2 >"$storage"
            cmp auto "$storage"
        done
        for storage in brc brcp-paper; do
            quern spmv m.mtx --quiet --precision $precision --storage $storage >y
            [ "$(wc -l <y)" -eq 300 ]
        done
    done
}

@test "symmetric halves, arrays, and both ends of the range" {
    printf '%%%%MatrixMarket matrix coordinate real symmetric\n3 3 3\n1 1 1\n2 1 5\n3 2 7\n' >m.mtx
    [ "$(quern spmv m.mtx --quiet | tr '\n' ' ')" = "6 12 7 " ]
    printf '%%%%MatrixMarket matrix coordinate real skew-symmetric\n3 3 2\n2 1 5\n3 2 7\n' >m.mtx
    [ "$(quern spmv m.mtx --quiet | tr '\n' ' ')" = "-5 -2 7 " ]
    printf '%%%%MatrixMarket matrix array real general\r\n2 2\r\n1\r\n2\r\n3\r\n4\r\n' >m.mtx
    [ "$(quern spmv m.mtx --quiet | tr '\n' ' ')" = "4 6 " ]
    # Sums beyond the range on the way, among the subnormals, below them, and half of the least one: ties go to even.
    printf '%%%%MatrixMarket matrix coordinate real general\n4 3 9\n1 1 1.7e308\n1 2 1.7e308\n1 3 -1.7e308\n2 1 1e-320\n2 2 5e-324\n3 1 1.7e308\n3 2 1.7e308\n4 3 5e-324\n4 2 -5e-324\n' >m.mtx
    for storage in auto coo csr ell brcp; do
        [ "$(quern spmv m.mtx --quiet --storage $storage | tr '\n' ' ')" = "1.7e+308 1.0005e-320 inf 0 " ]
    done
    printf '%%%%MatrixMarket matrix coordinate real general\n3 1 3\n1 1 1e-200\n2 1 5e-324\n3 1 1.5e-323\n' >m.mtx
    [ "$(quern spmv m.mtx --quiet --vector <(echo 1e-200) | tr '\n' ' ')" = "0 0 0 " ]
    [ "$(quern spmv m.mtx --quiet --vector <(echo 0.5) | tr '\n' ' ')" = "5e-201 0 1e-323 " ]
}

@test "the error is relative to the exact sum, rounded" {
    # 1e16 + 1 - 1e16: added in doubles from the left, 0.
    printf '%%%%MatrixMarket matrix coordinate real general\n1 3 3\n1 1 1e16\n1 2 1\n1 3 -1e16\n' >cancel.mtx
    [ "$(quern spmv cancel.mtx --quiet)" = 1 ]
    quern spmv cancel.mtx --quiet --error --stats stats >y
    [ "$(json stats 'd["counts"]["wrong_rows"], d["measures"]["greatest_relative_error"]')" = "(0, 0.0)" ]
    quern spmv cancel.mtx --quiet --error --storage brc --stats stats >y
    [ "$(json stats 'd["counts"]["wrong_rows"]')" = 1 ]
    run --separate-stderr quern spmv cancel.mtx --error --repeat 3
    [ "$status" -eq 0 ] && [[ $stderr == *"not correctly rounded"* ]]
}

@test "the check of floats rounds the exact sum once" {
    # 1 + 2^-24 + what is too little for a double to keep: above the middle of two floats, and not on it.
    printf '%%%%MatrixMarket matrix coordinate real general\n3 3 9\n1 1 1\n1 2 5.9604644775390625e-08\n1 3 5.421010862427522e-20\n2 1 1\n2 2 5.9604644775390625e-08\n2 3 1e-30\n3 1 1\n3 2 5.9604644775390625e-08\n3 3 -1e-30\n' >tie.mtx
    [ "$(quern spmv tie.mtx --precision f32 --quiet | tr '\n' ' ')" = "1.0000001 1.0000001 1 " ]
    quern spmv tie.mtx --precision f32 --quiet --error --stats stats >y
    [ "$(json stats 'd["counts"]["wrong_rows"]')" = 0 ]
    # The paper's own order of adding loses them.
    quern spmv tie.mtx --precision f32 --quiet --error --storage brc --stats stats >y
    [ "$(json stats 'd["counts"]["wrong_rows"]')" = 2 ]
}

@test "not-a-number stays in its row" {
    printf '%%%%MatrixMarket matrix coordinate real general\n3 2 3\n1 1 1\n2 2 1\n3 1 2\n' >m.mtx
    printf '1\ninf\n' >x
    [ "$(quern spmv m.mtx --vector x --quiet | tr '\n' ' ')" = "1 inf 2 " ]
    for storage in coo csr ell brcp; do
        [ "$(quern spmv m.mtx --vector x --quiet --storage $storage | tr '\n' ' ')" = "1 inf 2 " ]
    done
}

@test "bad input" {
    ends_with 3 quern spmv <(printf '%%%%MatrixMarket matrix coordinate real general\n2 2 1\n1 x 1\n')
    says ":3: "
    ends_with 3 quern spmv <(printf 'no matrix\n')
    ends_with 3 quern spmv paper.mtx --vector <(printf '1\n2\n') -o y
    says "2 values, but the matrix has 4 columns"
    [ ! -e y ]
    ends_with 2 quern spmv paper.mtx --precision f16
    ends_with 2 quern spmv paper.mtx --repeat 0
    ends_with 2 quern spmv missing.mtx
    ends_with 2 quern spmv
    ends_with 2 quern spmv - --vector - <paper.mtx
    # Billions of columns in three lines: x would not fit.
    printf '%%%%MatrixMarket matrix coordinate real general\n1 4294967290 1\n1 2 1\n' >wide.mtx
    ends_with 4 quern spmv wide.mtx --memory 1G
    says "needs 32 GiB"
    ends_with 4 quern spmv wide.mtx --memory 1G --vector <(echo 1)
    # ell would be nearly all padding.
    awk 'BEGIN { print "%%MatrixMarket matrix coordinate pattern general"; print 3000, 3000, 3000
        for (i = 1; i <= 3000; i++) print 1, i }' >row.mtx
    ends_with 2 quern spmv row.mtx --storage ell
    says "expected at most 10 places for each entry"
    [ "$(quern spmv row.mtx --quiet | head -n 1)" = 3000 ]
}
