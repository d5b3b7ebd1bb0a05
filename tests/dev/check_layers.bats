#!/usr/bin/env bats
# The checker itself: a clean tree passes, and each kind of breach is reported with its file, line and rule.

setup() {
    tree=$BATS_TEST_TMPDIR/tree
    mkdir -p "$tree"/include/quern/{base,ops,tasks} "$tree"/src/{base,device,io,text,ops/search,ops/rank,report,tasks} \
        "$tree"/apps/cli
    header include/quern/base/id.hpp ''
    header include/quern/ops/search.hpp '#include "quern/base/id.hpp"'
    header include/quern/quern.hpp '#include "quern/base/id.hpp"' '#include "quern/ops/search.hpp"'
    header src/io/file.hpp '#include "quern/base/id.hpp"'
    header src/ops/search/list.hpp '#include "quern/ops/search.hpp"'
    header src/tasks/all.hpp '#include "io/file.hpp"' '#include "ops/search/list.hpp"'
}

header() { # header PATH LINE...
    printf '%s\n' '#pragma once' "${@:2}" >"$tree/$1"
}

check() { run "$QUERN_SOURCE/scripts/check-layers" "$tree"; }

breach() { # breach TEXT: exactly one line is printed, and it is this
    check
    [ "$status" -eq 1 ]
    [ "${#lines[@]}" -eq 1 ]
    [[ ${lines[0]} == "$1"* ]]
}

@test "a clean tree passes" {
    check
    [ "$status" -eq 0 ]
    [[ $output == *"6 files"* ]]
}

@test "a module that includes a higher one is caught" {
    header src/base/bad.hpp '' '#include "io/file.hpp"'
    breach 'src/base/bad.hpp:3: base may not include io (allowed: none)'
}

@test "an operation that reads files is caught" {
    header src/ops/search/bad.hpp '#include "io/file.hpp"'
    breach 'src/ops/search/bad.hpp:2: ops may not include io (allowed: base, device, primitives)'
}

@test "an operation that includes another is caught" {
    header src/ops/rank/bad.hpp '#include "ops/search/list.hpp"'
    breach 'src/ops/rank/bad.hpp:2: ops/rank may not include ops/search'
}

@test "a public header that includes a private one is caught" {
    header include/quern/tasks/bad.hpp '#include "io/file.hpp"'
    echo '#include "quern/tasks/bad.hpp"' >>"$tree/include/quern/quern.hpp"
    breach 'include/quern/tasks/bad.hpp:2: a public header may include public headers only'
}

@test "a public header that includes a higher one is caught" {
    header include/quern/base/bad.hpp '#include "quern/ops/search.hpp"'
    sed -i '2i #include "quern/base/bad.hpp"' "$tree/include/quern/quern.hpp"
    breach 'include/quern/base/bad.hpp:2: public base may not include public ops (allowed: base)'
}

@test "a module that includes a higher contract is caught" {
    header src/text/bad.hpp '#include "quern/ops/search.hpp"'
    breach 'src/text/bad.hpp:2: text may not include quern/ops'
}

@test "a program that includes a private header is caught" {
    echo '#include "io/file.hpp"' >"$tree/apps/cli/main.cpp"
    breach 'apps/cli/main.cpp:1: programs may include quern/... and their own files only'
}

@test "programs may include the server library but not vice versa; one file includes the network library" {
    mkdir -p "$tree/apps/server"
    header apps/server/site.hpp
    echo '#include "server/site.hpp"' >"$tree/apps/cli/main.cpp"
    echo '#include <boost/asio.hpp>' >"$tree/apps/server/http_server.cpp"
    check
    [ "$status" -eq 0 ]
    echo '#include <boost/asio.hpp>' >"$tree/apps/server/site.cpp"
    breach 'apps/server/site.cpp:1: <boost/asio.hpp> may be included in apps/server/http_* only'
    header apps/cli/line.hpp
    echo '#include "cli/line.hpp"' >"$tree/apps/server/site.cpp"
    breach 'apps/server/site.cpp:1: programs may include quern/... and their own files only'
}

@test "a cycle of includes is caught" {
    header src/io/one.hpp '#include "io/two.hpp"'
    header src/io/two.hpp '#include "io/one.hpp"'
    breach 'src/io/one.hpp:1: cycle of includes: src/io/one.hpp -> src/io/two.hpp -> src/io/one.hpp'
}

@test "conditional compilation outside the seam is caught, SIMD dispatch is not" {
    header src/io/simd.hpp '#if HWY_ONCE' '#endif'
    check
    [ "$status" -eq 0 ]
    header src/io/bad.hpp '#ifdef NDEBUG' '#endif'
    breach 'src/io/bad.hpp:2: conditional compilation outside the seam'
}

@test "an include of a missing file, our own header in angle brackets, a header without a guard are caught" {
    header src/io/bad.hpp '#include "io/none.hpp"'
    breach 'src/io/bad.hpp:2: no such file io/none.hpp'
    header src/io/bad.hpp '#include <quern/base/id.hpp>'
    breach 'src/io/bad.hpp:2: include our own headers with'
    echo 'int x;' >"$tree/src/io/bad.hpp"
    breach 'src/io/bad.hpp:1: header without #pragma once'
}

@test "a library that is confined to a module is caught elsewhere" {
    header src/text/bad.hpp '#include <CLI/CLI.hpp>'
    breach 'src/text/bad.hpp:2: <CLI/CLI.hpp> may be included in apps only'
    header src/text/bad.hpp '#include <cub/cub.cuh>'
    breach 'src/text/bad.hpp:2: <cub/cub.cuh> may be included in primitives only'
}

@test "a CUDA header outside .cu and .cuh files is caught" {
    header src/device/bad.hpp '#include <cuda_runtime.h>'
    breach 'src/device/bad.hpp:2: <cuda_runtime.h> may be included in .cu and .cuh files only'
    header src/device/check.cuh '#include <cuda_runtime.h>'
    header src/device/bad.hpp '#include "device/check.cuh"'
    breach 'src/device/bad.hpp:2: device/check.cuh may be included in .cu and .cuh files only'
}

@test "a library that nvcc cannot read is caught in .cu files, also through our own headers" {
    printf '%s\n' '#include <cuda/std/span>' '#include <vector>' '#include "device/check.cuh"' >"$tree/src/device/good.cu"
    header src/device/check.cuh '#include <cuda_runtime.h>'
    check
    [ "$status" -eq 0 ]
    echo '#include <oneapi/tbb/parallel_for.h>' >"$tree/src/device/bad.cu"
    breach 'src/device/bad.cu:1: .cu and .cuh files may include CUDA, CCCL, the standard library and our own headers'
    header src/device/words.hpp '#include <fmt/format.h>'
    header src/device/between.hpp '#include "device/words.hpp"'
    echo '#include "device/between.hpp"' >"$tree/src/device/bad.cu"
    breach 'src/device/bad.cu:1: includes <fmt/format.h>, which nvcc cannot read, through src/device/words.hpp'
}

@test "conditional compilation is caught in .cu and .cuh files too" {
    header src/device/bad.cuh '  #  ifdef __CUDA_ARCH__' '#endif'
    breach 'src/device/bad.cuh:2: conditional compilation outside the seam'
    rm "$tree/src/device/bad.cuh"
    printf '%s\n' 'int x;' '#if CUDART_VERSION >= 13000' '#endif' >"$tree/src/device/bad.cu"
    breach 'src/device/bad.cu:2: conditional compilation outside the seam'
}

@test "CUB outside the primitives is caught, in .cu files too" {
    echo '#include <cub/device/device_scan.cuh>' >"$tree/src/ops/rank/rank.cu"
    breach 'src/ops/rank/rank.cu:1: <cub/device/device_scan.cuh> may be included in primitives only'
}

@test "a binding that includes a private header is caught, and one that includes public ones is not" {
    mkdir -p "$tree/bindings/python/src"
    header bindings/python/src/own.hpp '#include "quern/ops/search.hpp"' '#include <nanobind/nanobind.h>'
    echo '#include "own.hpp"' >"$tree/bindings/python/src/own.cpp"
    check
    [ "$status" -eq 0 ]
    echo '#include "io/file.hpp"' >"$tree/bindings/python/src/own.cpp"
    breach 'bindings/python/src/own.cpp:1: bindings may include quern/... and their own files only'
    echo '#include <nanobind/nanobind.h>' >"$tree/src/io/file.cpp"
    rm "$tree/bindings/python/src/own.cpp"
    breach 'src/io/file.cpp:1: <nanobind/nanobind.h> may be included in bindings only'
}

@test "this repository is clean" {
    run "$QUERN_SOURCE/scripts/check-layers"
    [ "$status" -eq 0 ]
}

@test "a public header that the header of all headers lacks" {
    sed -i /search/d "$tree/include/quern/quern.hpp"
    breach "include/quern/quern.hpp:1: must include every public header"
}
