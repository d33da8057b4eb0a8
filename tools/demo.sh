#!/usr/bin/env bash
# From a fresh clone to text: installs what is missing, builds the program, and lets sprout, the model that comes with
# the sources, write with its DSpark drafter. Words given on the command line become the prompt.
set -euo pipefail
cd "$(dirname "$0")/.."

prompt=${*:-Tell me a story about a fox and a lantern.}
tools/setup.sh build
log=build/release/build.log
mkdir -p build/release
echo "Building build/release/outrider (a few minutes the first time)"
if ! { cmake --preset release && cmake --build --preset release --target outrider; } >"$log" 2>&1; then
  tail -n 40 "$log" >&2
  exit 1
fi
exec build/release/outrider generate --model models/sprout --chat --max-tokens 200 --prompt "$prompt" \
  --speculative-config '{"method":"dspark","model":"models/sprout-dspark","num_speculative_tokens":7}'
