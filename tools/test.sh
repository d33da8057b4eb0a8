#!/usr/bin/env bash
# Runs every check of the project from a fresh clone: `tools/test.sh`, or some: `tools/test.sh release fuzz`.
#   format   clang-format changes nothing
#   release  the program and its tests as they are used, and every header by itself
#   asan     the whole suite under the address and undefined-behaviour sanitizers
#   fuzz     every fuzz target for a fixed number of inputs, under the same sanitizers
# A part that fails does not keep the next from running. The last line is the sum of all.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

parts=("$@")
[ ${#parts[@]} -gt 0 ] || parts=(format release asan fuzz)
jobs=${OUTRIDER_JOBS:-$(nproc)}
passed=0
failed=0
skipped=0
failures=()

# verdict NAME STATUS: counts one check.
verdict() {
  if [ "$2" -eq 0 ]; then
    passed=$((passed + 1))
    echo "ok: $1"
  else
    failed=$((failed + 1))
    failures+=("$1")
    echo "FAILED: $1"
  fi
  return "$2"
}

check() {
  local name=$1
  shift
  echo "-- $name"
  "$@" </dev/null
  verdict "$name" $?
}

# build PRESET TARGET...: quiet where it succeeds.
build() {
  local preset=$1 log
  shift
  log=build/$preset/build.log
  mkdir -p "build/$preset"
  if ! { cmake --preset "$preset" -DOUTRIDER_TESTS="$([ "$preset" = fuzz ] && echo OFF || echo ON)" &&
         cmake --build --preset "$preset" -j "$jobs" --target "$@"; } >"$log" 2>&1; then
    grep -iE "error|failed|killed" "$log" | cut -c1-300 | head -n 40
    return 1
  fi
}

# suite PRESET [ctest flags]: adds what ctest counted. ctest's own closing line counts the tests that ran.
suite() {
  local preset=$1 log total lost idle
  shift
  log=build/$preset/ctest.log
  ctest --test-dir "build/$preset" -j "$jobs" --output-on-failure --no-tests=error "$@" </dev/null 2>&1 |
    tee "$log" | grep -vE '^ *Start +[0-9]+:|Passed +[0-9.]+ sec$'
  total=$(sed -nE 's/.* tests failed out of ([0-9]+).*/\1/p' "$log" | tail -n 1)
  lost=$(sed -nE 's/.*, ([0-9]+) tests failed out of .*/\1/p' "$log" | tail -n 1)
  idle=$(grep -cE '\*\*\*(Skipped|Not Run)' "$log")
  if [ -z "$total" ] || [ "$total" -eq 0 ]; then
    verdict "suite of $preset: no test was run" 1
    return
  fi
  passed=$((passed + total - lost - idle))
  failed=$((failed + lost))
  skipped=$((skipped + idle))
  [ "$lost" -eq 0 ] || failures+=("$lost tests of $preset, listed above")
}

formatted() { git ls-files -- 'src/*.h' 'src/*.cc' 'tests/*.h' 'tests/*.cc' 'bench/*.h' 'bench/*.cc' |
  xargs clang-format-14 --dry-run -Werror; }

part_format() {
  check "clang-format" formatted
}

part_release() {
  check "release build" build release all && suite release
  check "headers compile alone" build release headers
}

part_asan() {
  export ASAN_OPTIONS=detect_leaks=1:strict_string_checks=1:detect_stack_use_after_return=1
  export UBSAN_OPTIONS=print_stacktrace=1
  # What tests/tidy and tests/nocompile say does not depend on how the program was built.
  check "asan build" build asan all && suite asan -LE source
}

part_fuzz() {
  check "fuzz build" build fuzz all || return
  local target
  for target in tests/fuzz/*_fuzz.cc; do
    target=$(basename "$target" .cc)
    check "$target" build fuzz "run_$target"
  done
}

for part in "${parts[@]}"; do
  case "$part" in
    format | release | asan | fuzz) ;;
    *) echo "usage: tools/test.sh [format] [release] [asan] [fuzz]" >&2; exit 2 ;;
  esac
done
tools/setup.sh test || exit 1
for part in "${parts[@]}"; do
  started=$SECONDS
  echo "== $part"
  "part_$part"
  echo "== $part took $((SECONDS - started)) s"
done

for failure in "${failures[@]}"; do echo "FAILED: $failure"; done
echo "$passed passed, $failed failed$([ "$skipped" -eq 0 ] || echo ", $skipped skipped")"
[ "$failed" -eq 0 ]
