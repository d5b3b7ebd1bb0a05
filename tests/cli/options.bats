#!/usr/bin/env bats
# shellcheck disable=SC2059,SC2154 # printf writes text with \n; common and bats set $data, $stderr
# What the program says of options: those that there are not, those without effect, those of a file, and the help pages.
load common

own_setup() {
    printf 'a\tb\nb\tc\nc\ta\n' >graph.tsv
    printf '1 0 a1 1\n' >qrels
    printf '1 Q0 a1 1 1.0 x\n' >run
    printf 'x 1 0\ny 0 1\n' >set.txt
}

commands() { quern --help | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p'; }

@test "unknown options are reported, the first one first" {
    refused "unknown option -k: pagerank writes all nodes" pagerank graph.tsv -k 2
    refused "measure 'F9': is not known" evaluate qrels run -m F9
    refused "unknown option --index: " nearest set.txt --queries set.txt --index ivf
    refused "unknown option --top: for the number of results use -k N" search store --top 3 word
    refused "unknown option --limit: for the number of words use -k N" complete store --limit 3 word
    refused "unknown option -x (quern pagerank --help" pagerank graph.tsv -x 2
    refused "unknown option --first" info store --first --second
    refused "unknown option --threds; did you mean --threads?" pagerank graph.tsv --threds 2
    refused "unknown option --dam; did you mean --damping?" pagerank graph.tsv --dam 0.5
    refused "unknown option --k; did you mean -k?" search store apple --k 5
    refused "unknown option --zzz (quern" pagerank --zzz # also before it misses an argument
    refused "unexpected argument 'c'" info store c d
    refused "--format: the value is missing" evaluate qrels run --format
    refused "-o: the value is missing" evaluate qrels run -o
    refused "unknown option -apple; put words that begin with a dash" search store -apple
    run --separate-stderr quern search store x --rm3
    [[ $stderr != *"did you mean"* ]]
    # A value may look like anything.
    printf -- '-k\t2\n-m\t1\n' >-k
    ends_with 0 quern topk ./-k -o --first
    [ -s ./--first ]
}

@test "an option without effect is an error" {
    refused "unknown option --gpu-memory: this command runs on the CPU only" evaluate qrels run --gpu-memory 1G
    refused "--seed requires --test randomization" evaluate qrels run --seed 1
    for command in "info store" "verify store" "fuse run" "similar space w" "contexts space w" \
        "count store w" "export store" "dictionary graph.tsv -o d" "signature graph.tsv"; do
        # shellcheck disable=SC2086 # words of the command
        refused "unknown option --gpu-memory: this command runs on the CPU only" $command --gpu-memory 1G
        # shellcheck disable=SC2086
        refused "unknown option --seed: this command uses no random numbers" $command --seed 1
    done
    for command in "pagerank graph.tsv" "nearest set.txt --queries set.txt" "ngrams graph.tsv" "dedup graph.tsv" "serve store"; do
        # shellcheck disable=SC2086
        refused "unknown option --seed" $command --seed 1
    done
    for command in "fuse run" "build graph.tsv -o s" "export store --graph g"; do
        # shellcheck disable=SC2086
        refused "unknown option --format" $command --format tsv
    done
    for command in info verify; do refused "runs on cpu only" $command store --device cuda; done
    refused "--gpu-memory requires --dedup" serve store --gpu-memory 1G
}

@test "options for limits and behaviour are accepted by every command" {
    commands >names
    [ "$(wc -l <names)" -gt 15 ]
    while read -r name; do
        run --separate-stderr quern "$name" --device cpu --threads 2 --memory 1G --tmp . --quiet --progress never \
            --force --stats s.json a b c d
        [[ $stderr != *"unknown option"* ]]
    done <names
    ends_with 0 quern pagerank graph.tsv --device cpu --threads 2 --memory 1G --tmp . --quiet --stats s.json
}

@test "an option that another one disables is an error, and a warning in a configuration" {
    build "$data/corpus.jsonl" store
    for idle in "--model ql --k1 1" "--model dirichlet --b 0.5" "--mu 100" "--model dirichlet --lambda 0.5" "--like-weight 1" \
        "--expand-weight 0.5" "--max-errors 5" "--input-format jsonl"; do
        # shellcheck disable=SC2086
        refused " requires " search store apple $idle
    done
    for idle in "--k1 1" "--measure bm25 --lambda 0.5" "--mu 3" "--delta 0.5" "--measure bm25 --smoothing dirichlet"; do
        # shellcheck disable=SC2086
        refused " requires " ngrams "$data/corpus.jsonl" $idle
    done
    ends_with 0 quern ngrams "$data/corpus.jsonl" --measure bm25 --arpa model --smoothing dirichlet --mu 5 --k1 1 -o rows
    refused "--constant requires --aggregate rrf" topk graph.tsv --constant 3
    for idle in "" "--method nra"; do
        # shellcheck disable=SC2086
        refused "--stride requires --method segmented" topk graph.tsv --stride 3 $idle
    done
    refused "--constant requires --aggregate rrf" fuse run --constant 3 --aggregate borda
    refused "--ranks requires --aggregate rrf or borda" fuse run --ranks field
    refused "--normalize applies to scores" fuse run --aggregate rrf --normalize minmax
    for idle in "--lsa-of documents" "--lsa-words 9 --vectors 2" "--lsa-words 9" "--lsa-measure pearson --vectors 2"; do
        # shellcheck disable=SC2086
        refused " requires " words "$data/corpus.jsonl" -o space $idle
    done
    quern words "$data/corpus.jsonl" -o space --min-count 1 --quiet
    refused "--top applies to a list" similar space --pairs graph.tsv -k 3
    refused "--top applies to a list" similar space apple --with pear --top 3
    refused "--all-words cannot be combined with --within" similar space apple --within graph.tsv --all-words
    printf '[search]\nmu = 7\nk1 = 1.5\n' >c.toml
    ends_with 0 quern search store apple --config c.toml
    [[ $stderr == *"warning: c.toml:2: without effect: --mu requires --model dirichlet"* ]]
    [[ $stderr != *k1* ]]
}

@test "a method name of other programs gets a hint to ours" {
    printf '{"id":"1","text":"one two three"}\n' >c.jsonl
    refused "i-match); for pairs by Jaccard similarity use --method shingle --similarity" dedup c.jsonl --method minhash
    refused "--method shingle --similarity" dedup c.jsonl --jaccard 0.8
    refused "--method shingle --similarity" dedup c.jsonl --threshold 0.8
    refused "(expected one of auto" dedup c.jsonl --method other
    ends_with 0 quern dedup c.jsonl --method shingle --similarity 0.8
}

@test "a list of a configuration" {
    cp "$data/corpus.jsonl" c.jsonl
    printf '[build]\nskip = ["duplicates", "thesaurus",\n   # and\n  "vectors" , ]\n' >c.toml
    ends_with 0 quern build c.jsonl -o store --config c.toml
    [ "$(quern info store | awk '$1 == "stages" { print $2 }')" = ranks ]
    printf "skip = ['all']\n" >c.toml
    ends_with 0 quern build c.jsonl -o store --config c.toml --force
    printf '[topk]\nweight = [1, 0.5]\n' >c.toml
    printf 'a\t2\n' >l1
    printf 'a\t4\n' >l2
    [ "$(quern topk l1 l2 --config c.toml --quiet)" = a$'\t'4 ]
    printf '[dedup]\nagainst = ["c.jsonl", "d.jsonl"]\n' >c.toml
    cp c.jsonl d.jsonl
    ends_with 0 quern dedup c.jsonl --config c.toml --stats s.json
    [ "$(json s.json "d['counts']['earlier']")" -eq 12 ] || [ "$(json s.json "d['counts']['earlier']")" -eq 6 ]
}

@test "strings, comments and invalid option files" {
    ok() { # ok LINE: quern pagerank takes it
        printf "$1\n" >c.toml
        ends_with 0 quern pagerank graph.tsv --config c.toml -o out.tsv --force
    }
    bad() { # bad LINE MESSAGE
        printf "$1\n" >c.toml
        ends_with 2 quern pagerank graph.tsv --config c.toml
        says "$2"
    }
    ok 'threads = 2 # two'
    ok 'threads=2'
    ok '"threads" = "2"   # two'
    ok "threads = '2'"
    ok '\xef\xbb\xbf; first\n\n[ pagerank ] # here\nquiet\nforce = true\r'
    ok 'format = "tsv"\nstats = "a # b.json"'
    [ -e "a # b.json" ]
    ok 'stats = "a\\"b.json"'
    [ -e 'a"b.json' ]
    bad 'threads = "2' "c.toml:1: the string lacks the closing \""
    bad '\nthreads = [1' "c.toml:2: the list lacks the closing ]"
    bad 'threads = "2" 3' "c.toml:1: unexpected '3' after the value"
    bad 'threads = {a = 1}' "c.toml:1: a table"
    bad 'threads = [[1]]' "c.toml:1: a list in a list"
    bad 'stats = ["a" "b"]' "c.toml:1: missing comma"
    bad 'stats = [,"b"]' "c.toml:1: a comma without a preceding value"
    bad 'stats = """a"""' "c.toml:1: a multi-line string"
    bad 'stats = "\\u0041"' "c.toml:1: unknown escape \\u in a string"
    bad '[pagerank' "c.toml:1: '[pagerank' lacks the closing ]"
    bad 'threads = 1\nquiet = true\nthreads = 2' "c.toml:3: 'threads' is already set in line 1"
    bad 'quiet = true\n\001' "c.toml:2: control character"
    bad 'threads = [1, 2]' "c.toml:1: --threads: invalid value '1,2' (expected all or a whole number"
}

@test "an empty value is a value: the next argument is none" {
    printf '{"id":"a","text":"x"}\n' >a.jsonl
    cp a.jsonl b.jsonl
    for name in --output= --groups= --threads= --against= --config= --report=; do
        for rest in "a.jsonl b.jsonl --force" ""; do
            # shellcheck disable=SC2086 # words of the command
            ends_with 2 quern dedup "$name" $rest
            says "${name%=}: "
            cmp a.jsonl b.jsonl
        done
    done
    for line in 'output =' 'output = ""' 'o =' 'threads =' 'prefer = []' 'against = [""]'; do
        echo "$line" >c.toml
        refused "c.toml:1: -" dedup a.jsonl b.jsonl --config c.toml --force
        cmp a.jsonl b.jsonl
    done
    refused "-o: the value is missing before --quiet" dedup a.jsonl -o --quiet
    refused "--output: the value is missing before --threads=2" dedup a.jsonl --output --threads=2
    refused "-o: the value is missing before -o; a file of that name is ./-o" dedup a.jsonl -o -o
    refused "-o: the value is missing before -k; a file of that name is ./-k" search store word -o -k 5
    [ ! -e --quiet ]
    ends_with 0 quern dedup a.jsonl -o=c.jsonl
    cmp a.jsonl c.jsonl
    ends_with 0 quern dedup a.jsonl --output=--quiet
    [ -e ./--quiet ]
    refused "-o, --output: the name is empty" dedup -o= a.jsonl b.jsonl --force
    refused "--quiet: invalid value '' (expected true or false)" dedup a.jsonl --quiet=
    refused "--quiet: invalid value 'maybe' (expected true or false)" dedup a.jsonl --quiet=maybe
    echo 'quiet = maybe' >c.toml
    refused "c.toml:1: --quiet: invalid value 'maybe' (expected true or false)" dedup a.jsonl --config c.toml
    for value in false no off 0; do
        ends_with 0 quern dedup a.jsonl --quiet=$value
        says "1 document"
    done
    ends_with 0 quern dedup a.jsonl --quiet=true
    [ -z "$stderr" ]
}

@test "the name of a file is not empty" {
    printf '{"id":"a","text":"x"}\n' >a.jsonl
    refused "--personalize: the name is empty" pagerank graph.tsv --personalize=
    refused "--warm: the name is empty" pagerank graph.tsv --warm=
    refused "--dictionary: the name is empty" ngrams a.jsonl --dictionary=
    refused "--limit-vocabulary: the name is empty" ngrams a.jsonl --limit-vocabulary=
    refused "--topic-weights: the name is empty" fuse run run --topic-weights=
    for name in --queries --allow --truth; do
        refused "$name: the name is empty" nearest set.txt $name=
    done
    refused "--pairs: the name is empty" similar space --pairs=
    refused "--within: the name is empty" similar space word --within=
    refused "--topics: the name is empty" search store --topics=
    refused "--query-vector: the name is empty" search store word --query-vector=
    refused "--vector: the name is empty" spmv matrix.mtx --vector=
    refused "--delete: the name is empty" build -o store --delete=
    refused "--perplexity: the name is empty" filter a.jsonl --rules c4 --perplexity=
    refused "--tmp: the name is empty" dedup a.jsonl --tmp=
    refused "QRELS: the name is empty (expected the name of a file or folder)" evaluate "" run
    refused "RUN: the name is empty" evaluate graph.tsv ""
    refused "CORPUS: the name is empty" build "" -o store
    refused "STORE|CORPUS: the name is empty" search "" word
    echo 'warm = ""' >c.toml
    refused "c.toml:1: --warm: the name is empty" pagerank graph.tsv --config c.toml
}

@test "an unknown key of a configuration is reported with its line" {
    printf '# mine\n[pagerank]\n\ndampng = 0.5\n' >c.toml
    refused "c.toml:4: 'dampng' is not an option of quern pagerank; did you mean 'damping'?" pagerank graph.tsv --config c.toml
    printf 'quiet = true\nmax_iterations = 3\n' >c.toml
    refused "c.toml:2: 'max_iterations' is not an option of any command; did you mean 'max-iterations'?" \
        pagerank graph.tsv --config c.toml
    printf '\n[ranks]\nquiet = true\n' >c.toml
    refused "c.toml:3: 'ranks' is not a command of quern" pagerank graph.tsv --config c.toml
    printf '\nthreads = many\n' >c.toml
    refused "c.toml:2: --threads: invalid value 'many' (expected all or a whole number" pagerank graph.tsv --config c.toml
}

@test "a key of a configuration without effect is reported" {
    printf '{"id":"1","text":"one two three"}\n' >c.jsonl
    printf 'seed = 3\n[dedup]\nsimilarity = 0.9\n[search]\nk = 3\n' >c.toml
    ends_with 0 quern dedup c.jsonl --config c.toml
    [[ $stderr == *"c.toml: settings without effect in quern dedup: seed (line 1)"* ]]
    [[ $stderr == *"warning: c.toml:3: without effect: --similarity requires --method shingle"* ]]
    [[ $stderr != *"k (line"* ]]
    ends_with 0 quern dedup c.jsonl --config c.toml --method shingle
    [[ $stderr != *"similarity"* ]]
}

@test "an endless configuration, and one of a million values" {
    ends_with 2 quern pagerank graph.tsv --config /dev/zero
    says "/dev/zero: the file is too large"
    ends_with 2 quern pagerank graph.tsv --config .
    { printf 'weight = ['; yes '1,' | head -n 200000 | tr -d '\n'; printf '1]\n'; } >c.toml
    ends_with 2 quern topk graph.tsv --config c.toml
    [ ${#stderr} -lt 1000 ]
    { printf 'device = ['; yes '"abcdefghij",' | head -n 50000; printf ']\n'; } >c.toml
    ends_with 2 quern pagerank graph.tsv --config c.toml
    says "c.toml:1: --device: invalid device 'abcdefghij,"
    [ ${#stderr} -lt 1000 ]
    long=$(head -c 100000 /dev/zero | tr '\0' x)
    for option in --threads --device --memory --format --tolerance --tmp; do
        ends_with 2 quern pagerank graph.tsv "$option" "$long"
        [ ${#stderr} -lt 1000 ]
    done
    ends_with 2 quern pagerank graph.tsv "--$long"
    [ ${#stderr} -lt 1000 ]
    ends_with 2 quern dedup graph.tsv --input-format tsv --language "$long"
    [ ${#stderr} -lt 10000 ]
}

@test "an endless list of stop words" {
    head -c 5000000 /dev/zero | tr '\0' x >stop
    ends_with 2 quern dedup graph.tsv --input-format tsv --method shingle --stop-words stop
    says "the stop-word file 'stop' is larger than 4 MiB"
    ends_with 2 quern dedup graph.tsv --input-format tsv --method shingle --stop-words /dev/zero
    head -c 4000000 stop >smaller
    ends_with 0 quern dedup graph.tsv --input-format tsv --method shingle --stop-words smaller
}

@test "--help has the command's own options, --help-all all" {
    for name in build search pagerank evaluate; do
        quern "$name" --help >short
        quern "$name" --help-all >long
        # The first line is the summary of the command, which does not wrap.
        [ "$(tail -n +2 short | wc -L)" -le 80 ]
        [ "$(tail -n +2 long | wc -L)" -le 80 ]
        grep -q "^Common options (quern $name --help-all explains them):" short
        # Options begin in the first columns; texts, which may name one, further right.
        [ "$(grep -c '^ \{2,8\}--threads' short)" -eq 0 ]
        [ "$(grep -c '^ \{2,8\}--threads' long)" -eq 1 ]
        [ "$(grep -c '^Exit codes:' short)" -eq 1 ]
        grep -q '^  70 ' long
        # Every option of the long page is named on the short one.
        grep -o '^  *\(-., \)\?--[a-z0-9-]*' long | grep -o -e '--[a-z0-9-]*' | while read -r option; do
            grep -q -e "$option\b" short || { echo "$name: $option"; return 1; }
        done
    done
    [ "$(quern evaluate --help | wc -l)" -lt 75 ]
    [ "$(quern pagerank --help | wc -l)" -lt 90 ]
    [ "$(quern help pagerank)" = "$(quern pagerank --help)" ]
}

@test "the version, by every option for it" {
    expected=$(quern --version)
    [[ $expected == "quern "[0-9]*.[0-9]*.[0-9]* ]]
    for words in -V -v version "build --version" "pagerank x -V"; do
        # shellcheck disable=SC2086
        [ "$(quern $words)" = "$expected" ]
    done
}
