#!/usr/bin/env bash
# A provider for `reel chat` and `reel ask`: the body of a request on stdin, the provider's event stream on stdout.
#
#     reel chat demo --via "examples/provider.sh anthropic" --format anthropic \
#         --set model=claude-opus-5 --set max_tokens=4096
#
# The key comes from the environment and reaches curl through a pipe: what is on a command line, everybody can read.
set -euo pipefail

case ${1:-} in
    anthropic)
        url=${ANTHROPIC_BASE_URL:-https://api.anthropic.com}/v1/messages
        key="x-api-key: ${ANTHROPIC_API_KEY:?is not set}" ;;
    openai)
        url=${OPENAI_BASE_URL:-https://api.openai.com/v1}/responses
        key="authorization: Bearer ${OPENAI_API_KEY:?is not set}" ;;
    gemini)
        url=${GEMINI_BASE_URL:-https://generativelanguage.googleapis.com}/v1beta/models/${2:?which model? provider.sh gemini MODEL}
        url+=':streamGenerateContent?alt=sse'
        key="x-goog-api-key: ${GEMINI_API_KEY:?is not set}" ;;
    *)
        echo "usage: provider.sh anthropic | openai | gemini MODEL" >&2
        exit 2 ;;
esac
exec curl --silent --show-error --no-buffer --fail-with-body "$url" --data-binary @- \
    --header @<(printf '%s\n' "$key") --header 'content-type: application/json' --header 'anthropic-version: 2023-06-01'
