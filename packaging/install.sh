#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# install.sh [PREFIX]              installs this folder's Quern under PREFIX
# install.sh --uninstall [PREFIX]  removes it again
#
# PREFIX: ~/.local, or /usr/local for root. Everything lies in PREFIX/lib/quern; PREFIX/bin/quern, the manual pages and the
# completion of shells are links to it. The new version is complete and has run before it takes the place of an older one,
# and whatever fails or interrupts the installation, the older one stays. A file that is not Quern's is never replaced.
# Exit codes: 0 done, 1 it failed and nothing has changed, 2 usage, or PREFIX cannot be used.
set -u
umask 022

say() { printf 'install.sh: %s\n' "$*" >&2; }
refuse() {
    say "$@"
    exit 2
}

uninstall=no prefix=''
for argument in "$@"; do
    case $argument in
    --uninstall) uninstall=yes ;;
    -h | --help)
        sed -n 's/^# \{0,1\}//; 3,10p' "$0"
        exit 0
        ;;
    -*) refuse "unknown option $argument (expected --uninstall)" ;;
    *)
        [ -z "$prefix" ] || refuse "unexpected argument $argument (expected one PREFIX)"
        prefix=$argument
        ;;
    esac
done
if [ -z "$prefix" ]; then
    if [ "$(id -u)" -eq 0 ]; then
        prefix=/usr/local
    else
        prefix=${HOME:?the home folder is not known; name a PREFIX}/.local
    fi
fi
case $prefix in
/*) ;;
*) prefix=$PWD/$prefix ;;
esac
home=$prefix/lib/quern
list=$home/installed # what install.sh made outside of $home: "link PATH" and "folder PATH", below PREFIX

# is_ours PATH: a link into $home, as install.sh makes it.
is_ours() { [ -L "$prefix/$1" ] && [ "$(readlink "$prefix/$1")" = "$(target "$1")" ]; }

# target PATH: the text of the link PREFIX/PATH to the same path in lib/quern.
target() {
    up=$(dirname "$1" | sed 's:[^/][^/]*:..:g')
    printf '%s/lib/quern/%s\n' "$up" "$1"
}

if [ $uninstall = yes ]; then
    [ -f "$list" ] || refuse "no Quern of install.sh is in $prefix (expected $list); name the PREFIX it was installed with"
    for folder in "$prefix/lib" "$home"; do [ -w "$folder" ] || refuse "cannot write to $folder; run it as its owner"; done
    kept=$(cat "$list")
    printf '%s\n' "$kept" | while read -r kind path; do
        if [ "$kind" = link ] && is_ours "$path"; then
            rm -f "$prefix/$path" || exit 1
        fi
    done || { say "cannot remove all links from $prefix; run it again as their owner" && exit 1; }
    rm -rf "$home" || exit 1
    # Folders that the installation had made, if nothing else is in them by now; inner ones first.
    printf '%s\n' "$kept" | sort -r | while read -r kind path; do
        if [ "$kind" = folder ]; then rmdir "$prefix/$path" 2>/dev/null; fi
    done
    say "removed Quern from $prefix"
    exit 0
fi

from=$(cd "$(dirname "$0")" && pwd) || exit 1
[ "$from" != "$home" ] || refuse "this is the installed copy; run the install.sh of an unpacked archive, or --uninstall"
if [ ! -x "$from/bin/quern" ] || [ ! -d "$from/lib/quern" ]; then refuse "$from is incomplete; unpack the archive again"; fi
if ! version=$("$from/bin/quern" --version 2>&1); then
    refuse "the program does not run on this machine ($(uname -m), $(getconf GNU_LIBC_VERSION 2>/dev/null || echo 'no glibc')): $version"
fi

# Whether all of it is possible, before anything changes.
existing() { # existing PATH: PATH, or its nearest folder that exists
    above=$1
    while [ ! -e "$above" ] && [ ! -L "$above" ]; do above=$(dirname "$above"); done
    printf '%s\n' "$above"
}
links=$(cd "$from" && find bin share -type f | LC_ALL=C sort)
for path in lib/quern $links; do
    folder=$(existing "$(dirname "$prefix/$path")")
    [ -d "$folder" ] || refuse "$folder is not a folder; name another PREFIX"
    if [ ! -w "$folder" ] || [ ! -x "$folder" ]; then
        refuse "cannot write to $folder; name a PREFIX of your own, or run it as root"
    fi
done
if [ -e "$home" ] || [ -L "$home" ]; then
    if [ ! -f "$list" ] || [ -L "$home" ]; then refuse "$home exists and is not of install.sh; name another PREFIX"; fi
fi
for path in $links; do
    if [ -e "$prefix/$path" ] || [ -L "$prefix/$path" ]; then
        is_ours "$path" || refuse "$prefix/$path exists and is not of install.sh; remove it, or name another PREFIX"
    fi
done

new=$prefix/lib/.quern-new.$$ old=$prefix/lib/.quern-old.$$ made='' placed=no
undo() {
    trap '' INT TERM HUP
    if [ $placed = yes ] && [ ! -d "$new" ]; then rm -rf "$home"; fi
    if [ -d "$old" ]; then mv "$old" "$home"; fi
    # Links of the new version that the older one did not have, then the folders, inner ones first.
    printf '%s' "$made" | while read -r kind path; do
        case $kind in
        link) rm -f "$prefix/$path" ;;
        esac
    done
    rm -rf "$new"
    printf '%s' "$made" | LC_ALL=C sort -r | while read -r kind path; do
        if [ "$kind" = folder ]; then rmdir "$prefix/$path" 2>/dev/null; fi
    done
    say "failed; nothing has changed in $prefix"
    exit 1
}
trap undo INT TERM HUP

newline='
'
# make_folder PATH: PREFIX/PATH, and notes which folders did not exist.
make_folder() {
    missing='' above=$1
    while [ "$above" != . ] && [ ! -d "$prefix/$above" ]; do
        missing="folder $above$newline$missing"
        above=$(dirname "$above")
    done
    mkdir -p "$prefix/$1" || return 1
    made=$made$missing
}

make_folder lib || undo
mkdir "$new" || undo
cp -R "$from/bin" "$from/lib" "$from/share" "$from/install.sh" "$new/" || undo
"$new/bin/quern" --version >/dev/null || undo
for path in $links; do
    make_folder "$(dirname "$path")" || undo
    if ! is_ours "$path"; then made="${made}link $path$newline"; fi
done
{
    if [ -f "$list" ]; then cat "$list"; fi
    printf '%s' "$made"
} | LC_ALL=C sort -u >"$new/installed" || undo

if [ -d "$home" ]; then mv "$home" "$old" || undo; fi
placed=yes # once $new is gone
mv "$new" "$home" || undo
for path in $links; do
    is_ours "$path" || ln -s "$(target "$path")" "$prefix/$path" || undo
done
trap '' INT TERM HUP # the new version is in place
rm -rf "$old"
while read -r kind path; do # what an older version had and this one has not
    if [ "$kind" = link ] && is_ours "$path" && [ ! -e "$prefix/$path" ]; then rm -f "$prefix/$path"; fi
done <"$list"

say "installed $version as $prefix/bin/quern"
case :${PATH:-}: in
*:"$prefix/bin":*) ;;
*) say "to find it, add this folder to PATH: $prefix/bin" ;;
esac
