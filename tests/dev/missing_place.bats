#!/usr/bin/env bats
# These must not compile: an operation that lacks a place, memory of one place passed to another. This must: the
# example of docs/places.md. The host's compiler can read every place type, so no CUDA is needed here.

# The headers, compiled once: most of the time of each of the many small programs.
setup_file() {
    local cuda
    for cuda in 0 1; do
        mkdir "$BATS_FILE_TMPDIR/$cuda"
        printf '#include "device/array.hpp"\n#include "device/place.hpp"\n' >"$BATS_FILE_TMPDIR/$cuda/places.hpp"
        "${CXX:-c++}" -std=c++20 -DQUERN_CUDA=$cuda -I"$QUERN_SOURCE/include" -I"$QUERN_SOURCE/src" \
            -x c++-header "$BATS_FILE_TMPDIR/$cuda/places.hpp" -o "$BATS_FILE_TMPDIR/$cuda/places.hpp.gch"
    done
}

setup() { cd "$BATS_TEST_TMPDIR" || return 1; }

# compile QUERN_CUDA: compiles the program on standard input; the compiler's messages are in $output.
compile() {
    { printf 'using namespace quern;\n' && cat; } >tried.cpp
    run "${CXX:-c++}" -std=c++20 -fsyntax-only -DQUERN_CUDA="$1" -I"$QUERN_SOURCE/include" -I"$QUERN_SOURCE/src" \
        -include "$BATS_FILE_TMPDIR/$1/places.hpp" tried.cpp
    echo "$output" # shown when the test fails
}

both='void twice(cpu_place&, std::span<int>); void twice(cuda_place&, device_span<int>);'
cpu_only='void twice(cpu_place&, std::span<int>);'
door='void door(const context& run, std::span<const int> values) {
    at_place(run, "doubling", [&](auto& place) { auto array = array_from(place, values); twice(place, array.span()); });
}'

@test "an operation with code for every place compiles" {
    compile 1 <<<"$both $door"
    [ "$status" -eq 0 ]
    compile 0 <<<"$both $door"
    [ "$status" -eq 0 ]
}

@test "one without code for CUDA does not compile, and the message names cuda_place" {
    compile 1 <<<"$cpu_only $door"
    [ "$status" -ne 0 ]
    [[ $output == *"cuda_place"* ]]
}

@test "without a CUDA back end it compiles: the program has no such place" {
    compile 0 <<<"$cpu_only $door"
    [ "$status" -eq 0 ]
}

@test "one whose overloads return different types does not compile" {
    compile 1 <<<'int size(cpu_place&); long size(cuda_place&);
        auto door(const context& run) { return at_place(run, "counting", [](auto& place) { return size(place); }); }'
    [ "$status" -ne 0 ]
}

refused() { # refused WORDS STATEMENT: it does not compile, and the message holds the words
    compile 1 <<<"$both void f(cpu_place& cpu, cuda_place& cuda, std::span<int> host, device_span<int> device) { $2; }"
    [ "$status" -ne 0 ]
    [[ $output == *"$1"* ]]
}

@test "host memory and device memory do not convert into each other" {
    refused device_span 'twice(cuda, host)'
    refused span 'twice(cpu, device)'
    refused device_span 'device_span<int> wrong = host'
    refused span 'std::span<int> wrong(device)'
    refused device_span 'copy_in<int>(cpu, host, device)'
    refused device_span 'device_span<int> wrong = device_span<const int>()'
}

@test "the host cannot read device memory" {
    refused 'deleted' 'int wrong = device[0]'
    refused 'begin' 'for (int wrong : device) (void)wrong'
}

@test "a place is neither copied nor moved, an array is not copied" {
    refused 'deleted' 'cpu_place wrong(cpu)'
    refused 'deleted' 'cuda_place wrong(static_cast<cuda_place&&>(cuda))'
    refused 'deleted' 'cuda_array<int> array(cuda, 5), wrong(array)'
    refused 'plain values' 'cuda_array<std::string> wrong(cuda, 5)'
}

@test "the example of docs/places.md compiles, with every available compiler" {
    awk '/^```cpp$/ { getline; file = $2; next } /^```$/ { file = "" } file { print >file }' "$QUERN_SOURCE/docs/places.md"
    [ -s shift.cpp ]
    [ -s shift_cpu.cpp ]
    [ -s shift_cuda.cu ]
    [ -s shifted_values.hpp ]
    printf '#include "shifted_values.hpp"\n' >shifted_values.cpp
    printf '#include "shift_many.hpp"\n' >shift_many.cpp
    local search=(-I"$QUERN_SOURCE/include" -I"$QUERN_SOURCE/src" -I.)
    for file in *.cpp; do
        "${CXX:-c++}" -std=c++20 -fsyntax-only -Wall -Wextra -Werror -DQUERN_CUDA=0 "${search[@]}" "$file"
        "${CXX:-c++}" -std=c++20 -fsyntax-only -Wall -Wextra -Werror -DQUERN_CUDA=1 "${search[@]}" \
            -include "$BATS_FILE_TMPDIR/1/places.hpp" "$file"
    done
    nvcc=$(command -v nvcc || ls /usr/local/cuda/bin/nvcc) || skip "the .cu file needs nvcc; the others compile"
    "$nvcc" -std=c++20 -arch=sm_90 --expt-relaxed-constexpr -DQUERN_CUDA=1 "${search[@]}" -c shift_cuda.cu -o shift_cuda.o
}
