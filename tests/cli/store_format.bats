#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The formats that docs/formats.md freezes. golden/format-VERSION.tar.gz has what Quern VERSION wrote of the sample data/format:
# every later 1.x reads it and gives the answers of golden/format-VERSION.answers; what this program writes has the bytes of
# the newest. QUERN_NEW_FORMAT=VERSION adds those of a version that has none.

load common

own_setup() {
    sample=$data/format
    if [ -n "${QUERN_NEW_FORMAT:-}" ] && [ ! -e "$golden_folder/format-$QUERN_NEW_FORMAT.tar.gz" ]; then
        write_all new
        tar -C new --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner -cf - . |
            gzip -9n >"$golden_folder/format-$QUERN_NEW_FORMAT.tar.gz"
        mkdir asked
        cd asked
        unpack "$QUERN_NEW_FORMAT"
        answers >"$golden_folder/format-$QUERN_NEW_FORMAT.answers"
        cd ../..
    fi
    mapfile -t versions < <(cd "$golden_folder" && printf '%s\n' format-*.tar.gz | sed 's/format-//; s/\.tar\.gz$//' | sort -V)
}

# write_all FOLDER: every format that a user can ask for, with every part that it can have.
write_all() {
    mkdir "$1"
    cd "$1" || return 1
    quern build "$sample/articles.jsonl" -o articles --keep-fields all --index-fields abstract --ngrams \
        --vectors "$sample/vectors.jsonl" --device cpu --quiet
    quern build "$sample/pages.xml" -o pages --stem english --fold accents --stop-words "$sample/stop_words.txt" \
        --device cpu --quiet
    quern build "$sample/more.jsonl" -o more --stem english --fold accents --stop-words "$sample/stop_words.txt" --skip all --quiet
    quern build "$sample/weights.jsonl" -o weights --quiet
    quern merge pages more --sharded -o shards --quiet
    quern words "$sample/articles.jsonl" -o space --relation position --min-count 30 --vectors 4 --top all --device cpu --quiet
    quern dictionary "$sample/articles.jsonl" -o dictionary --quiet
    quern ngrams "$sample/articles.jsonl" --sentences --smoothing kneser-ney --order 3 --arpa model.arpa --quiet
    quern model model.arpa -o model --quiet
    quern model model.arpa -o quantized --quantize 8 --quiet
    quern dedup "$sample/articles.jsonl" --store duplicates --groups /dev/null --device cpu --quiet
    rm model.arpa ./*/stats.json ./*/*/stats.json
    cd ..
}

unpack() { # unpack VERSION: into a folder of this name, and goes there
    mkdir -p "$1"
    tar -C "$1" -xzf "$golden_folder/format-$1.tar.gz"
    cd "$1" || return 1
}

ask() {
    printf '$ quern %s\n' "$*"
    quern "$@" --quiet
}

# answers: what users find in all of them. Warnings of another Unicode version are not among them.
answers() {
    local model path
    for path in articles pages more weights shards space dictionary model quantized duplicates; do
        [ $path = shards ] || ask verify $path
        ask info $path | grep -vE '(bytes|checksum)[[:space:]]' # they are held to what is there
    done
    for model in bm25 ql dirichlet two-stage lucene robertson atire bm25+ bm25l pl2 inl2; do
        ask search articles 'flour at the weir' --model $model -k 6 | cut -f 1-3
    done
    ask search articles 'at the weir' --model dirichlet --order 2 -k 3
    ask search articles 'flour weir' --dependence sdm -k 3
    ask search articles 'flour weir' --feedback rm3 -k 3
    ask search articles 'flour weir' --prior 0.5 --expand 3 -k 2 --explain
    ask search articles 'flour weir' --field-weights abstract=2,title=3,text=1 -k 3
    ask search articles 'flour weir' --query-vector '[1,0,0.5,-1]' -k 3
    ask search articles --like m07 -k 3
    ask search articles 'abstract:"seen by the" AND (salt OR mül*)' --syntax operators -k 5
    ask search articles 'flourr' -k 3
    ask search articles 'wheat' --filter 'price < 10 AND tags IN (mill, river) OR open = true' --sort -price,date --format jsonl -k 4
    ask search articles --filter 'date > 2015 AND visits EXISTS' --facets lang,tags --total -k 3
    ask search articles rye --format jsonl -k 2
    ask count articles at the | head -n 9
    ask complete articles sal
    ask similar articles mill barley
    ask contexts articles mill
    ask pagerank articles | head -n 20
    ask export articles --documents documents --graph graph --arpa arpa --order 2 --vectors vectors.npy
    tail -n 5 documents graph
    cksum documents graph arpa vectors.npy
    ask search weights 'mill^2 grain river^0.5'
    ask search pages 'grinding cafe'
    ask pagerank pages
    ask search shards 'mills'
    ask similar space mill rye
    ask similar space mill --with weir
    ask contexts space mill
    cksum space/similarities.npy
    ask export space --vectors words.npy --words words
    cksum words words.npy
    cd "$sample" || return 1 # names of documents, and no paths
    for model in model quantized; do
        ask perplexity "$OLDPWD/$model" more.jsonl --sentences | sed "s:$OLDPWD/::"
    done
    ask ngrams more.jsonl --order 1 --dictionary "$OLDPWD/dictionary" | sed "s:$OLDPWD/::"
    ask dedup articles.jsonl more.jsonl --store "$OLDPWD/duplicates" --pairs - | sed "s:$OLDPWD/::"
    cd "$OLDPWD" || return 1
    ask verify duplicates
}

@test "what every 1.x wrote is read, and gives the answers of its day" {
    for version in "${versions[@]}"; do
        unpack "$version"
        golden "format-$version.answers" answers
        cd ..
    done
}

@test "what this program writes has the bytes of the newest" {
    unpack "${versions[-1]}"
    cd ..
    write_all today
    "$BATS_TEST_DIRNAME/compare_formats.py" "${versions[-1]}" today
}

# compress_again FOLDER WORD: the texts of its store, with WORD for "flour", as another version of libzstd might write them.
compress_again() {
    python3 - "$BATS_TEST_DIRNAME" "$1" "$2" <<'END'
import pathlib, struct, subprocess, sys
sys.path.insert(0, sys.argv[1])
sys.dont_write_bytecode = True
import compare_formats
texts = pathlib.Path(sys.argv[2], "texts.section")
blocks = texts.with_name("text_blocks.section")
whole, first = compare_formats.frames(texts)
assert first == (0,) and whole.count(b"flour") > 9
frame = subprocess.run(["zstd", "-19", "-cq"], input=whole.replace(b"flour", sys.argv[3].encode()), capture_output=True, check=True).stdout
assert frame != compare_formats.payload(texts)
for file, payload in (texts, frame), (blocks, struct.pack("<QQ", len(frame), 0)):
    footer = bytearray(file.read_bytes()[-compare_formats.FOOTER:])
    footer[16:24] = struct.pack("<Q", len(payload))
    file.write_bytes(payload + footer)
END
}

@test "a comparison sees a changed byte, a changed text, another count, a new file, and no other compression" {
    unpack "${versions[-1]}"
    cd ..
    differs() { # differs FILE: what was done to it in the copy is seen
        run "$BATS_TEST_DIRNAME/compare_formats.py" "${versions[-1]}" copy
        [[ $status -eq 1 && $output == "$1: "*"A new format version"* ]] || { echo "$output"; return 1; }
        rm -r copy
        cp -r "${versions[-1]}" copy
    }
    cp -r "${versions[-1]}" copy
    "$BATS_TEST_DIRNAME/compare_formats.py" "${versions[-1]}" copy
    compress_again copy/articles flour
    "$BATS_TEST_DIRNAME/compare_formats.py" "${versions[-1]}" copy
    compress_again copy/articles pearl
    differs articles/texts.section
    printf X | dd of=copy/articles/links.section bs=1 seek=1 conv=notrunc status=none
    differs articles/links.section
    sed -i 's/"documents": 3/"documents": 9/' copy/pages/store.json
    differs pages/store.json
    touch copy/articles/new.section
    differs articles/new.section
    sed -i 's/"unicode": "[^"]*"/"unicode": "99.0"/; s/^  "checksum": ".*"/  "checksum": "0"/' copy/pages/store.json
    "$BATS_TEST_DIRNAME/compare_formats.py" "${versions[-1]}" copy
}

@test "stores of 1.0 are updated and merged today, with the same data of Unicode" {
    unpack "${versions[0]}"
    echo '{"id": "new", "title": "A quern", "text": "A quern is a hand mill of stone."}' >new.jsonl
    if [ "$(quern info pages | grep ^unicode)" != "unicode_version"$'\t'"$(quern doctor --format tsv | sed -n 's/^Unicode\t\([^\t]*\).*/\1/p')" ]; then
        refused "was made with the data of Unicode" merge pages more -o merged
        refused "was made with the data of Unicode" build new.jsonl -o pages --update
        return
    fi
    quern merge pages more -o merged --quiet
    quern build new.jsonl -o pages --update --device cpu --quiet
    quern search pages 'quern' --format tsv | grep -q new
    quern verify merged --quiet
}

@test "another format version is refused with what to do, whatever it is of" {
    unpack "${versions[-1]}"
    for file in articles/store.json space/space.json duplicates/duplicates.json shards/shards.json; do
        cp "$file" kept
        sed -i 's/"version": [0-9]*/"version": 9999/' "$file"
        ends_with 5 quern info "${file%/*}"
        says "has format version 9999, but this program reads version"
        says "install a newer Quern"
        sed -i 's/"version": [0-9]*/"version": 0/' "$file"
        ends_with 5 quern info "${file%/*}"
        says "has format version 0, but this program reads version"
        says "a Quern before 1.0 made it: make it again from its input"
        cp kept "$file"
    done
    sed -i 's/"version": [0-9]*/"version": 3/' articles/store.json
    echo '{"id": "new", "text": "A mill."}' >new.jsonl
    for command in 'search articles mill' 'count articles mill' 'verify articles' 'export articles --documents -' \
        'similar articles mill' 'build new.jsonl -o articles --update' 'merge articles pages -o merged'; do
        # shellcheck disable=SC2086 # words
        ends_with 5 quern $command </dev/null
        says "has format version 3"
    done
}
