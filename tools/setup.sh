#!/usr/bin/env bash
# Installs the Debian 12 packages that are missing: `tools/setup.sh build` for what builds the program and its tests,
# `tools/setup.sh test` for what the checks of tools/test.sh need besides. Does nothing where all is there.
set -euo pipefail

build_packages=(
  ca-certificates g++ cmake ninja-build ccache
  libboost1.81-dev libboost-json1.81-dev libpcre2-dev libutf8proc-dev libyaml-cpp-dev libgtest-dev)
test_packages=(clang-14 clang-format-14 libclang-rt-14-dev python3)

case "${1:-build}" in
  build) wanted=("${build_packages[@]}") ;;
  test) wanted=("${build_packages[@]}" "${test_packages[@]}") ;;
  *) echo "usage: tools/setup.sh [build|test]" >&2; exit 2 ;;
esac

missing=()
for package in "${wanted[@]}"; do
  state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$state" = installed ] || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  if ! command -v sudo >/dev/null; then
    echo "These packages are missing, and only root can install them: ${missing[*]}" >&2
    exit 1
  fi
  as_root=(sudo)
fi
echo "Installing ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
"${as_root[@]}" apt-get update -qq
# sudo may drop the environment, so the front end is named once more.
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
  apt-get install -y -qq --no-install-recommends "${missing[@]}" </dev/null >/dev/null
