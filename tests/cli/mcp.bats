#!/usr/bin/env bats
# shellcheck disable=SC2016,SC2154 # bash -c expands its own text; common, bats and coproc set variables
# quern mcp: sessions over pipes. The answers themselves are tested in tests/server/mcp_test.cpp.
load common

own_setup() {
    build "$data/wiki.xml" st
}

message() { # message ID METHOD [PARAMS]
    printf '{"jsonrpc":"2.0","id":%s,"method":"%s"%s}\n' "$1" "$2" "${3:+,\"params\":$3}"
}

# answers EXPRESSION: a Python expression over the list of answers in the file out, as d.
answers() { python3 -c 'import json,sys; d=[json.loads(l) for l in open("out", encoding="utf-8")]; print(eval(sys.argv[1]))' "$1"; }

@test "a session over a pipe, and nothing but answers on standard output" {
    {
        message 1 initialize '{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}'
        echo '{"jsonrpc":"2.0","method":"notifications/initialized"}'
        message '"two"' tools/list
        message 3 tools/call '{"name":"search","arguments":{"query":"the","k":1}}'
        message 4 ping
    } >in
    ends_with 0 quern mcp st <in
    [[ $stderr == "quern mcp: serving "*" documents on standard input and output" ]]
    printf '%s\n' "$output" >out
    [ "$(answers '[a["id"] for a in d]')" = "[1, 'two', 3, 4]" ]
    [ "$(answers 'd[0]["result"]["serverInfo"]["version"]')" = "$(quern --version | cut -d' ' -f2)" ]
    [ "$(answers 'd[0]["result"]["serverInfo"]["title"]')" = "Quern: st" ]
    [ "$(answers '[t["name"] for t in d[1]["result"]["tools"]]')" = "['search', 'read_document', 'count_phrase', 'complete']" ]
    [ "$(answers 'd[2]["result"]["structuredContent"]["hits"][0]["id"]')" = "$(quern search st the -k 1 --format jsonl | python3 -c 'import json,sys; print(json.loads(sys.stdin.readline())["id"])')" ]
    [ "$(answers 'd[3]["result"]')" = "{}" ]
    quern mcp st --quiet <in >again 2>said
    cmp out again
    [ ! -s said ]
}

@test "each line is answered when it arrives" {
    coproc server { exec "$QUERN" mcp st --quiet; }
    message 1 ping >&"${server[1]}"
    read -r -t 60 line <&"${server[0]}"
    [ "$line" = '{"jsonrpc":"2.0","id":1,"result":{}}' ]
    message 2 no/such >&"${server[1]}"
    read -r -t 60 line <&"${server[0]}"
    [[ $line == *'"id":2,"error":{"code":-32601,'* ]]
    local process=$server_PID input=${server[1]}
    exec {input}>&-
    wait "$process"
}

@test "malformed lines are refused one by one, and empty ones skipped" {
    {
        echo 'hello'
        echo
        printf ' \t\r\n'
        printf '{"jsonrpc":"2.0","id":"\xff","method":"ping"}\n'
        echo '[{"jsonrpc":"2.0","id":1,"method":"ping"}]'
        printf '{"jsonrpc":"2.0",\r\n'
        head -c 300000 /dev/zero | tr '\0' '['
        echo
        head -c 300000 /dev/zero | tr '\0' ' '
        echo
        printf '{"jsonrpc":"2.0","id":6,"method":"ping"}\r\n'
        printf '{"jsonrpc":"2.0","id":7,"method":"ping"}' # the input ends without the end of the line
    } >in
    quern mcp st --quiet <in >out
    [ "$(answers '[(a["id"], a.get("error", {}).get("code")) for a in d]')" = \
        "[(None, -32700), (None, -32700), (None, -32600), (None, -32700), (None, -32600), (None, -32600), (6, None), (7, None)]" ]
    [ "$(answers 'd[4]["error"]["message"]')" = "the message is too long (at most 262144 bytes)" ]
}

@test "the end of the input ends the program, also at once" {
    ends_with 0 quern mcp st </dev/null
    [ -z "$output" ]
    ends_with 0 quern mcp st --stats stats.json <<<"$(message 1 ping)"
    [ "$(json stats.json 'd["counts"]["messages"]')" = 1 ]
}

@test "a client that reads no more ends the program" {
    for ((i = 0; i < 2000; ++i)); do message "$i" tools/list; done >in
    ends_with 0 bash -c '"$QUERN" mcp st --quiet <in | head -c 100 >/dev/null; exit "${PIPESTATUS[0]}"'
}

@test "signals end a program that waits" {
    for pair in INT:130 TERM:143; do
        mkfifo "fifo-$pair"
        # shellcheck disable=SC2016
        bash -c 'exec "$QUERN" mcp st --quiet <"$1"' - "fifo-$pair" >out 2>said &
        local process=$!
        exec {input}>"fifo-$pair"
        at_work "$process"
        local begin=$EPOCHREALTIME code=0
        kill -s "${pair%:*}" "$process"
        wait "$process" || code=$?
        exec {input}>&-
        [ "$code" -eq "${pair#*:}" ]
        [ ! -s out ]
        echo "took from $begin to $EPOCHREALTIME: $(cat said)"
        [ ! -s said ] || was_forced said
    done
}

@test "missing stores, and folders that are none, are refused" {
    refused "STORE" mcp
    refused "nothing" mcp nothing
    refused "" mcp "$data"
    refused "text" mcp st text
    refused "unknown option --port" mcp st --port 1
}

@test "a damaged store is no store" {
    truncate -s 0 st/dictionary.section
    ends_with 5 quern mcp st </dev/null
    [ -z "$output" ]
    says "dictionary"
}

@test "a store that is cut while it is served gives no answer any more" {
    # bash may forget how a coprocess ended before it is asked.
    coproc server { local code=0; "$QUERN" mcp st 2>said || code=$?; echo "$code" >code; }
    local process=$server_PID input=${server[1]} answers=${server[0]}
    message 1 ping >&"$input"
    read -r -t 60 line <&"$answers"
    for section in st/*.section; do truncate -s 0 "$section"; done
    message 2 tools/call '{"name":"search","arguments":{"query":"the"}}' >&"$input"
    read -r -t 60 line <&"$answers" && return 1
    wait "$process" || true
    [ "$(<code)" -eq 5 ]
    grep -q "was changed or truncated\|truncated\|changed" said
}
