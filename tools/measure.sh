#!/usr/bin/env bash
# Takes the figures of docs/performance.md: one JSON a shape and format into docs/measurements. The machine
# must be idle; about 20 minutes on two cores, 24 GiB of memory. Packed shapes are made once, in $1.
#
#   tools/measure.sh /tmp/packed [NAME ...]     # all, or only those named; THREADS=1 for one thread
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
packed=${1:?a folder for packed weights}
shift
only=" $* "
bench=$root/build/release/outrider
configs=tests/data/plan/configs
out=$root/docs/measurements
mkdir -p "$out" "$packed"
cd "$root"

# pack NAME CONFIG FORMAT [flags]: random weights of a published shape, packed once.
pack() {
  local name=$1 config=$2 format=$3
  shift 3
  [ -d "$packed/$name-$format" ] ||
    "$bench" quantize "$configs/$config" "$packed/$name-$format" --quantization "$format" --load-format dummy "$@"
}

# measure NAME flags: one report.
measure() {
  local name=$1
  shift
  [ "$only" = "  " ] || [[ $only == *" $name "* ]] || return 0
  echo "$(date +%T) $name" >&2
  "$bench" bench --json --num-threads "${THREADS:-$(nproc)}" "$@" > "$out/$name.json.partial"
  mv "$out/$name.json.partial" "$out/$name.json"
}

cut='{"num_hidden_layers":8}'
for format in int8 int4; do
  pack qwen3-0.6b qwen3-0.6b $format
  pack qwen3-4b qwen3-4b $format
  pack qwen3-30b-a3b qwen3-30b-a3b $format --hf-overrides "$cut"
  pack dspark-qwen3-4b dspark-qwen3-4b-block7 $format
done

dspark() { echo "{\"method\":\"dspark\",\"model\":\"$1\"}"; }
sprout=models/sprout
measure machine --only machine
measure qwen3-4b-int4 --model "$packed/qwen3-4b-int4" --only decode,verify,prefill,draft,speculate --decode-tokens 8 \
  --prefill 128,512 --part-seconds 30 --max-tokens 128 --speculative-config "$(dspark "$packed/dspark-qwen3-4b-int4")"
measure qwen3-4b-int8 --model "$packed/qwen3-4b-int8" --only decode,verify,prefill,draft --decode-tokens 8 \
  --prefill 128,512 --part-seconds 30 --speculative-config "$(dspark "$packed/dspark-qwen3-4b-int8")"
measure sprout-bf16 --model $sprout --only decode,verify,moe,draft,speculate --prompts $sprout/golden.json \
  --part-seconds 20 --speculative-config "$(dspark models/sprout-dspark)"
measure accuracy --model $sprout --only accuracy --text docs/checkpoints.md --prompts $sprout/golden.json
measure qwen3-30b-a3b-int4 --model "$packed/qwen3-30b-a3b-int4" --only decode,verify,moe --part-seconds 20
measure qwen3-30b-a3b-int8 --model "$packed/qwen3-30b-a3b-int8" --only decode,verify,moe --part-seconds 20
measure qwen3-0.6b-bf16 --model "$configs/qwen3-0.6b" --load-format dummy --only decode,verify,prefill --part-seconds 20
measure qwen3-0.6b-int8 --model "$packed/qwen3-0.6b-int8" --only decode,verify,prefill --part-seconds 15
measure qwen3-0.6b-int4 --model "$packed/qwen3-0.6b-int4" --only decode,verify,prefill --part-seconds 15
measure qwen3-4b-bf16 --model "$configs/qwen3-4b" --load-format dummy --only decode,verify,prefill --decode-tokens 4 \
  --prefill 128,512 --part-seconds 30
measure qwen3-30b-a3b-bf16 --model "$configs/qwen3-30b-a3b" --load-format dummy --hf-overrides "$cut" \
  --only decode,verify,moe --part-seconds 25
