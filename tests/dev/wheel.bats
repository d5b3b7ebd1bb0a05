#!/usr/bin/env bats
# What a wheel is made of: the install component python, and scripts/finish-wheel on a small wheel. `./dev wheel` itself takes
# minutes.

setup() {
    [ "$(uname -s)" = Linux ]
    wheel=$BATS_TEST_TMPDIR/quern_engine-1.0.0-cp311-cp311-manylinux_2_35_x86_64.whl
    export SOURCE_DATE_EPOCH=1700000000
    mkdir "$BATS_TEST_TMPDIR/out"
}

make_wheel() { # make_wheel LIBRARY: as auditwheel leaves it, with a module, this library and an SBOM that misses it
    python3 - "$wheel" "$1" <<'END'
import json, sys, zipfile
info = "quern_engine-1.0.0.dist-info"
bom = {"bomFormat": "CycloneDX", "components": [{"name": "quern_engine", "purl": "pkg:pypi/quern_engine@1.0.0"}],
       "dependencies": [{"ref": "pkg:pypi/quern_engine@1.0.0", "dependsOn": []}]}
with zipfile.ZipFile(sys.argv[1], "w") as wheel:
    wheel.writestr(f"{info}/METADATA", "Metadata-Version: 2.4\nName: quern-engine\nLicense-File: LICENSE\n\n# Python\n")
    wheel.writestr(f"{info}/licenses/LICENSE", "Apache")
    wheel.writestr(f"{info}/sboms/auditwheel.cdx.json", json.dumps(bom))
    wheel.writestr(f"{info}/RECORD", "stale,,\n")
    wheel.writestr(f"quern_engine.libs/{sys.argv[2]}", "ELF")
    program = zipfile.ZipInfo("quern/bin/quern")
    program.external_attr = 0o100755 << 16
    wheel.writestr(program, "ELF")
END
}

library() { # the name that auditwheel gives to the installed bzip2
    local file
    file=$(basename "$(readlink -f "$(ldconfig -p | awk '/libbz2\.so\.1/ { print $NF; exit }')")")
    echo "${file/.so/-0123abcd.so}"
}

finish() { (cd "$QUERN_SOURCE" && scripts/finish-wheel "$wheel" "$BATS_TEST_TMPDIR/out"); }

@test "the component python has the program and nothing of the C++ library" {
    build=$(dirname "$(dirname "$QUERN")")
    cmake --install "$build" --component python --prefix "$BATS_TEST_TMPDIR/package" --strip
    run find "$BATS_TEST_TMPDIR/package" -type f -printf '%P\n'
    [ "${#lines[@]}" -eq 3 ]
    [[ $output == *quern/_quern.*so* && $output == *quern/_quern.pyi* && $output == *quern/bin/quern* ]]
    run "$BATS_TEST_TMPDIR/package/quern/bin/quern" --version
    [ "$output" = "$("$QUERN" --version)" ]
}

@test "a finished wheel has the licences and an SBOM with every library, and its record is right" {
    make_wheel "$(library)"
    run finish
    [ "$status" -eq 0 ]
    [ "$output" = "$BATS_TEST_TMPDIR/out/$(basename "$wheel")" ]
    python3 - "$output" <<'END'
import base64, csv, hashlib, io, json, sys, zipfile
info = "quern_engine-1.0.0.dist-info"
with zipfile.ZipFile(sys.argv[1]) as wheel:
    names = wheel.namelist()
    for package in ("libbz2-1.0", "libcli11-dev", "nlohmann-json3-dev"):
        assert wheel.read(f"{info}/licenses/{package}.txt"), package
        assert f"License-File: {package}.txt\n" in wheel.read(f"{info}/METADATA").decode(), package
    assert "libbz2-1.0" in [c["name"] for c in json.loads(wheel.read(f"{info}/sboms/auditwheel.cdx.json"))["components"]]
    rows = {row[0]: row[1:] for row in csv.reader(io.StringIO(wheel.read(f"{info}/RECORD").decode()))}
    assert sorted(rows) == sorted(names), (sorted(rows), sorted(names))
    for name in names:
        content = wheel.read(name)
        digest = "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("=")
        assert name.endswith("RECORD") or rows[name] == [digest, str(len(content))], name
    assert wheel.getinfo("quern/bin/quern").external_attr >> 16 == 0o100755
    assert {i.date_time for i in wheel.infolist()} == {(2023, 11, 14, 22, 13, 20)}
END
}

@test "the same bytes a second time" {
    make_wheel "$(library)"
    finish
    first=$(sha256sum <"$BATS_TEST_TMPDIR/out/$(basename "$wheel")")
    sleep 2
    make_wheel "$(library)"
    finish
    [ "$first" = "$(sha256sum <"$BATS_TEST_TMPDIR/out/$(basename "$wheel")")" ]
}

@test "a library that no package has is refused, and nothing is written" {
    make_wheel libnowhere-0123abcd.so.7
    run finish
    [ "$status" -eq 1 ]
    [[ $output == *"libnowhere.so.7: none"* ]]
    [ -z "$(ls -A "$BATS_TEST_TMPDIR/out")" ]
}

@test "wheel refuses an unknown preset" {
    run "$QUERN_SOURCE/scripts/wheel" debug
    [ "$status" -eq 2 ]
}
