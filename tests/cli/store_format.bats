#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The format of stores: a store that an earlier program of this format version wrote (golden/store.tar.gz) is read, and gives
# the results of that day; a build of its corpus writes its bytes. Whoever changes the bytes raises the format version, and then
# QUERN_UPDATE_GOLDEN=1 writes the store anew.

load common

own_setup() {
    if [ -n "${QUERN_UPDATE_GOLDEN:-}" ]; then
        build_today store
        tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner -cf - store | gzip -9n >"$golden_folder/store.tar.gz"
        rm -r store
    fi
    tar -xzf "$golden_folder/store.tar.gz"
}

build_today() {
    quern build "$data/mill.jsonl" -o "$1" --keep-fields all --ngrams --device cpu --quiet
}

@test "a store of this format version gives the results of its day" {
    quern info store >info
    golden store.search.tsv quern search store "grain mill" -k 20 --format tsv
    golden store.dirichlet.tsv quern search store "flour harbour" --model dirichlet --order 2 -k 20 --format tsv
    golden store.phrase.tsv quern search store '"the mill" -timber' -k 20 --format tsv
    golden store.filter.jsonl quern search store wheat --filter 'price < 10 AND tags IN (mill, river)' --sort price --format jsonl
    golden store.similar.tsv quern similar store mill barley --format tsv
    golden store.documents.tsv quern export store --documents - --graph /dev/null --arpa model --order 2
}

@test "a build of its corpus writes its bytes" {
    build_today today
    # Texts and fields are compressed: their bytes depend on the version of libzstd. Reading them is tested above.
    for section in store/*.section; do
        case ${section##*/} in texts.section | fields.section) continue ;; esac
        cmp "$section" "today/${section##*/}"
    done
    diff <(cd store && find . -type f | sort) <(cd today && find . -type f | sort)
    for file in store/thesaurus/*.section; do cmp "$file" "today/thesaurus/${file##*/}"; done
}

@test "an update of the store is possible today" {
    echo '{"id": "new", "title": "A quern", "text": "A quern is a hand mill of stone."}' >new.jsonl
    quern build new.jsonl -o store --update --device cpu --quiet
    quern search store quern --format tsv | grep -q new
}

@test "a store of another format version is refused with what to do" {
    sed -i 's/"version": [0-9]*/"version": 9999/' store/store.json
    ends_with 5 quern search store mill
    says "has format version 9999, but this program reads version"
    says "install a newer Quern"
    sed -i 's/"version": [0-9]*/"version": 1/' store/store.json
    ends_with 5 quern search store mill
    says "build it again from its corpus"
}
