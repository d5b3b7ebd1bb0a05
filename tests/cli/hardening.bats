#!/usr/bin/env bats
# What the linker and the compiler put against faults in the program (cmake/compiler.cmake): read from the program itself.
load common

own_setup() {
    command -v readelf >/dev/null || skip "needs readelf of binutils"
    readelf -W --dyn-syms "$QUERN" >symbols
    ! grep -qE '__(asan|tsan|ubsan)_' symbols || skip "sanitizers stand in for it"
}

@test "function tables are read-only before the program begins, and no memory is both writable and executable" {
    readelf -lW "$QUERN" >segments
    grep -q 'GNU_RELRO' segments
    grep -q 'GNU_STACK .* RW  *0x' segments
    run ! grep -qE '^ *LOAD.* RWE ' segments
    readelf -dW "$QUERN" >dynamic
    grep -qE 'FLAGS.*BIND_NOW|FLAGS_1.*NOW' dynamic
    grep -q 'FLAGS_1.*PIE' dynamic
}

@test "stacks and buffers are guarded" {
    grep -q '__stack_chk_fail' symbols
    grep -qE ' __[a-z]+_chk' symbols
}

@test "jumps lead only to function entries" {
    [ "$(uname -m)" = x86_64 ] || skip "of x86-64"
    marks=$(LC_ALL=C grep -aobP '\xf3\x0f\x1e\xfa' "$QUERN" | wc -l) # endbr64
    echo "$marks marks"
    [ "$marks" -gt 1000 ]
    # The linker says so of the whole program where the system's own first objects do.
    first=$(c++ -print-file-name=crt1.o)
    if readelf -nW "$first" 2>/dev/null | grep -q 'IBT'; then readelf -nW "$QUERN" | grep -q 'IBT'; fi
}
