#!/usr/bin/env bats
# The version is written once, in VERSION, and everything else follows it; the source archive of a release.

setup() {
    cd "$QUERN_SOURCE" || return 1
    # shellcheck source=scripts/version
    . scripts/version
}

@test "the program, the pages and the changelog name the version of VERSION" {
    [ "$("$QUERN" --version)" = "quern $version" ]
    for name in quern_engine-$python_version- quern_${deb_version}_ quern-$version-x86; do
        grep -rqF -- "$name" README.md docs || { echo "no page names $name"; return 1; }
    done
    run grep -rnE 'quern(_engine-|_|-)[0-9]+\.[0-9]+[^ ]*(\.whl|\.deb|-linux)' README.md docs --include=*.md
    stale=$(grep -vE "quern(_engine-$python_version-|_${deb_version}_|-$version-)" <<<"$output" || true)
    [ -z "$stale" ] || { echo "$stale"; return 1; }
    grep -qE "^## \[${version//./\\.}\] - 20[0-9]{2}-[0-9]{2}-[0-9]{2}$" CHANGELOG.md
}

@test "each spelling of the version is one that its readers order: a release candidate comes before its release" {
    [[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+(-(a|b|rc)[0-9]+)?$ ]]
    if ! command -v dpkg >/dev/null; then skip "needs dpkg"; fi
    [ "$version" = "${version%-*}" ] || dpkg --compare-versions "$deb_version" lt "${version%-*}"
}

@test "the source archive has the commit's files, says which commit it is, and has the same bytes twice" {
    if ! git rev-parse HEAD >/dev/null 2>&1; then skip "needs a clone"; fi
    scripts/package source "$BATS_TEST_TMPDIR/a.tar.gz"
    (umask 077 && TZ=Asia/Tokyo LC_ALL=C scripts/package source "$BATS_TEST_TMPDIR/b.tar.gz")
    cmp "$BATS_TEST_TMPDIR"/{a,b}.tar.gz
    tar -C "$BATS_TEST_TMPDIR" -xf "$BATS_TEST_TMPDIR/a.tar.gz"
    [ "$(cd "$BATS_TEST_TMPDIR/quern-$version" && find . ! -type d | wc -l)" -eq "$(git ls-tree -r --name-only HEAD | wc -l)" ]
    expected="$commit $SOURCE_DATE_EPOCH $version"
    cd "$BATS_TEST_TMPDIR/quern-$version"
    unset SOURCE_DATE_EPOCH
    . scripts/version
    [ "$commit $SOURCE_DATE_EPOCH $version" = "$expected" ]
}
