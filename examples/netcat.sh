#!/usr/bin/env bash
# The daemon without anything of reel's: nc for the socket, jq for the JSON.
#
#     echo "What is a tape deck?" | examples/netcat.sh NAME
#
# adds what comes on stdin to the conversation NAME and prints all of it. Each request is a line, and so is each answer.
set -euo pipefail

name=${1:?which conversation? echo TEXT | examples/netcat.sh NAME}
socket=${REEL_SOCKET:-${XDG_RUNTIME_DIR:+$XDG_RUNTIME_DIR/reel/reel.sock}}
socket=${socket:-/tmp/reel-$(id -u)/reel.sock}

# -N: after the last request we send no more; the daemon answers what it was asked and hangs up.
jq --raw-input --slurp --compact-output --arg name "$name" '
    {method: "add", params: {agent: $name, messages: rtrimstr("\n"), create: true}},
    {method: "messages", params: {agent: $name}}
    | {jsonrpc: "2.0", id: .method, method, params}
' | nc -N -U "$socket" | jq --raw-output '
    if .error then "\(.error.message)\n" | halt_error(1)
    elif .id == "messages" then .result.messages[] | "\(.role): \(.content[0].text)"
    else empty end
'
