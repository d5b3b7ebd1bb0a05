#!/usr/bin/env bats
# The folder that users unpack, and its install.sh: what is in it, installed, replaced, refused, failed and removed.
# ./dev test --long also makes the packages themselves (scripts/check-packages).

setup_file() {
    : "${QUERN:?the program to test}" "${QUERN_SOURCE:?the sources}"
    if ! command -v patchelf >/dev/null; then skip "patchelf is not installed (./dev setup package)"; fi
    if ! command -v dpkg-query >/dev/null; then skip "packages are made on Debian or Ubuntu"; fi
    if grep -q -e __asan_init -e __tsan_init "$QUERN"; then skip "not with sanitizers"; fi
    export SOURCE_DATE_EPOCH=1700000000
    export tree=$BATS_FILE_TMPDIR/tree
    "$QUERN_SOURCE/scripts/package" tree "$tree"
}

setup() {
    prefix="$BATS_TEST_TMPDIR/a prefix"
    export HOME=$BATS_TEST_TMPDIR/home
    mkdir "$HOME"
    cd "$BATS_TEST_TMPDIR" || return 1
}

install_sh() { sh "$tree/install.sh" "$@"; }

# copy [COMMANDS]: a small copy of the folder, to change, with another program and few files.
copy() {
    mkdir -p copy/bin copy/lib/quern copy/share/man/man1 copy/share/doc/quern
    cp "$tree/install.sh" copy
    cp "$tree"/share/man/man1/quern{,-search}.1.gz copy/share/man/man1
    cp "$tree/share/doc/quern/LICENSE" copy/share/doc/quern
    touch copy/lib/quern/library
    printf '#!/bin/sh\n%s\n' "${1:-echo quern 9.9.9}" >copy/bin/quern
    chmod +x copy/bin/quern
}

listing() { (cd "$1" && find . | sort); }

@test "the folder has the program, its libraries, pages, completion and licences, and runs alone" {
    [ "$(env -i "$tree/bin/quern" --version)" = "$("$QUERN" --version)" ]
    # No library of the machine but glibc's.
    env -i LD_TRACE_LOADED_OBJECTS=1 "$tree/bin/quern" | awk '$2 == "=>" { print $3 }' >loaded
    [ "$(grep -c "^$tree/" loaded)" -eq "$(find "$tree/lib/quern" -type f | wc -l)" ]
    grep -v "^$tree/" loaded | grep -vE '/lib(c|m|pthread|dl|rt)\.so' && return 1
    [ "$(find "$tree/share/man/man1" -type f | wc -l)" -eq $((1 + $("$QUERN" --help | sed -n '/^Commands:/,/^$/p' | grep -c '^  ') )) ]
    cmp <("$QUERN" completion bash) "$tree/share/bash-completion/completions/quern"
    # Each library stands in both lists, and each text that a licence refers to is there.
    for library in "$tree"/lib/quern/*; do
        grep -q "^Files:.* lib/quern/$(basename "$library")\( \|$\)" "$tree/share/doc/quern/copyright"
    done
    python3 - "$tree" <<'END'
import hashlib, json, pathlib, sys
tree = pathlib.Path(sys.argv[1])
parts = json.loads((tree / "share/doc/quern/sbom.cdx.json").read_text())["components"]
listed = {f["name"]: f["hashes"][0]["content"] for part in parts for f in part.get("components", [])}
assert listed == {f"lib/quern/{p.name}": hashlib.sha256(p.read_bytes()).hexdigest() for p in (tree / "lib/quern").iterdir()}
assert all(part["version"] and part["purl"].startswith("pkg:deb/") for part in parts)
for compiled_in in ("boost", "cli11", "nlohmann-json", "xxhash"):
    assert any(part["name"].startswith(compiled_in) for part in parts), compiled_in
END
    grep -oE '/usr/share/common-licenses/[A-Za-z0-9.+-]*[A-Za-z0-9]' "$tree/share/doc/quern/copyright" | sort -u | while read -r text; do
        [ -s "$tree/share/doc/quern/common-licenses/$(basename "$text")" ] || { echo "$text"; return 1; }
    done
}

@test "the folder does not name the one it was built in" {
    run grep -rlF "$(dirname "$(dirname "$QUERN")")" "$tree"
    [ "$status" -eq 1 ]
}

@test "the same folder a second time" {
    "$QUERN_SOURCE/scripts/package" tree "$PWD/again"
    diff -r "$tree" again
}

@test "installed into a prefix, used, and removed without a trace" {
    mkdir -p "$prefix/share/man" # was there before, and stays
    run install_sh "$prefix"
    [ "$status" -eq 0 ]
    [[ $output == *"installed quern "*" as $prefix/bin/quern"*"add this folder to PATH: $prefix/bin"* ]]
    mkdir mill && printf 'a wheel and a stone\n' >mill/a.txt
    env -i HOME="$HOME" "$prefix/bin/quern" search mill stone --format tsv | grep -q a.txt
    [ "$(readlink -f "$prefix/share/man/man1/quern-search.1.gz")" = "$(readlink -f "$prefix/lib/quern/share/man/man1/quern-search.1.gz")" ]
    bash -c 'source "$1/share/bash-completion/completions/quern"; complete -p quern' - "$prefix"
    # Twice is no error, and changes nothing.
    listing "$prefix" >before
    install_sh "$prefix"
    listing "$prefix" | diff before -
    sh "$prefix/lib/quern/install.sh" --uninstall "$prefix"
    [ "$(listing "$prefix")" = $'.\n./share\n./share/man' ]
}

@test "~/.local without a prefix; a relative prefix" {
    if [ "$(id -u)" -ne 0 ]; then
        install_sh
        "$HOME/.local/bin/quern" --version
        install_sh --uninstall
        [ ! -e "$HOME/.local/bin" ]
    fi
    install_sh here
    here/bin/quern --version
    install_sh --uninstall here
}

@test "a newer version replaces an older one, with the files it no longer has" {
    copy
    touch copy/share/man/man1/quern-old.1.gz
    sh copy/install.sh "$prefix"
    [ -L "$prefix/share/man/man1/quern-old.1.gz" ]
    install_sh "$prefix"
    [ ! -L "$prefix/share/man/man1/quern-old.1.gz" ]
    [ "$(find "$prefix" -xtype l | wc -l)" -eq 0 ]
    install_sh --uninstall "$prefix"
    [ -z "$(find "$prefix" -mindepth 1)" ]
}

@test "files of others are not replaced" {
    mkdir -p "$prefix/bin"
    echo mine >"$prefix/bin/quern"
    run install_sh "$prefix"
    [ "$status" -eq 2 ]
    [[ $output == *"$prefix/bin/quern exists and is not of install.sh"* ]]
    [ "$(cat "$prefix/bin/quern")" = mine ]
    [ "$(find "$prefix" -type f | wc -l)" -eq 1 ]
    rm "$prefix/bin/quern"
    mkdir -p "$prefix/lib/quern"
    run install_sh "$prefix"
    [ "$status" -eq 2 ]
    [[ $output == *"$prefix/lib/quern exists and is not of install.sh"* ]]
}

@test "a prefix that cannot be written, or is a file, is refused before anything changes" {
    echo x >file
    run install_sh file
    [ "$status" -eq 2 ]
    [[ $output == *"file is not a folder"* ]]
    mkdir -p "$prefix/share"
    if [ "$(id -u)" -eq 0 ]; then
        run install_sh /proc/quern
        [ "$status" -ne 0 ]
        skip "root writes everywhere"
    fi
    chmod 500 "$prefix/share"
    run install_sh "$prefix"
    [ "$status" -eq 2 ]
    [[ $output == *"cannot write to $prefix/share; name a PREFIX of your own"* ]]
    [ "$(listing "$prefix")" = $'.\n./share' ]
}

@test "a program that does not run here is not installed" {
    copy 'echo no such loader; exit 127'
    run sh copy/install.sh "$prefix"
    [ "$status" -eq 2 ]
    [[ $output == *"the program does not run on this machine"*"no such loader"* ]]
    [ ! -e "$prefix" ]
    rm -r copy/lib/quern
    run sh copy/install.sh "$prefix"
    [ "$status" -eq 2 ]
    [[ $output == *"is incomplete; unpack the archive again"* ]]
}

# Each command that changes something fails in turn: a first installation leaves nothing, a later one the older version.
@test "a failure at any point leaves what was there" {
    mkdir tools
    for tool in mkdir cp mv ln; do
        # shellcheck disable=SC2016 # for the tool
        printf '#!/bin/sh\nn=$(cat "$COUNT"); n=$((n - 1)); echo $n >"$COUNT"\n[ $n -ne 0 ] || { echo "no space left" >&2; exit 1; }\nexec %s "$@"\n' \
            "$(command -v $tool)" >tools/$tool
        chmod +x tools/$tool
    done
    export COUNT=$PWD/count
    copy
    mkdir "$prefix"
    failed=0
    for ((n = 1; n < 100; ++n)); do
        echo $n >"$COUNT"
        PATH=$PWD/tools:$PATH run sh copy/install.sh "$prefix"
        [ "$status" -ne 0 ] || break
        [[ $output == *"failed; nothing has changed"* ]]
        [ "$(listing "$prefix")" = . ] || { echo "after command $n: $(listing "$prefix")"; return 1; }
        failed=$((failed + 1))
    done
    [ "$failed" -ge 12 ] # folders, the copy, the links
    rm -r "$prefix" copy
    mkdir "$prefix"
    copy 'echo quern 1.1.1'
    sh copy/install.sh "$prefix"
    listing "$prefix" | grep -v lib/quern/ >before
    copy
    touch copy/share/man/man1/quern-new.1.gz
    failed=0
    for ((n = 1; n < 100; ++n)); do
        echo $n >"$COUNT"
        PATH=$PWD/tools:$PATH run sh copy/install.sh "$prefix"
        [ "$status" -ne 0 ] || break
        listing "$prefix" | grep -v lib/quern/ | diff before - || { echo "after command $n"; return 1; }
        [ "$("$prefix/bin/quern")" = "quern 1.1.1" ]
        failed=$((failed + 1))
    done
    [ "$failed" -gt 4 ]
    [ "$("$prefix/bin/quern")" = "quern 9.9.9" ]
}

@test "an interruption leaves what was there" {
    mkdir tools "$prefix"
    # shellcheck disable=SC2016 # for the tool
    printf '#!/bin/sh\nkill -TERM $PPID\nexec %s "$@"\n' "$(command -v cp)" >tools/cp
    chmod +x tools/cp
    PATH=$PWD/tools:$PATH run install_sh "$prefix"
    [ "$status" -eq 1 ]
    [ "$(listing "$prefix")" = . ]
}

@test "wrong arguments, and nothing to remove" {
    run install_sh --prefix x
    [ "$status" -eq 2 ]
    [[ $output == *"unknown option --prefix"* ]]
    run install_sh a b
    [ "$status" -eq 2 ]
    [[ $output == *"unexpected argument b"* ]]
    run install_sh --uninstall "$prefix"
    [ "$status" -eq 2 ]
    [[ $output == *"no Quern of install.sh is in $prefix"* ]]
    run install_sh --help
    [ "$status" -eq 0 ]
    [[ $output == "install.sh [PREFIX]"*"Exit codes:"* ]]
}
