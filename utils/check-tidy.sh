#!/usr/bin/env bash
# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Runs clang-tidy-22 (.clang-tidy) over the .cpp files of lib/ and tools/.
#
# Usage: check-tidy.sh [--quick] [--changed [BASE]]
#   --quick    without the checks that must look through all of MLIR's headers,
#              about 2 s a file instead of 5
#   --changed  only files that differ from BASE (default: main, or HEAD~1 on it)
#
# Needs a configured build with its generated headers, $SHOAL_BUILD or
# build/release. A file that passed is not checked again until it, a header or
# .clang-tidy changes: stamps lie in $SHOAL_BUILD/tidy.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/env.sh"
cd "$SHOAL_ROOT"

[ -f "$SHOAL_BUILD/compile_commands.json" ] ||
  shoal_die "$SHOAL_BUILD has no compile_commands.json: configure and build first"

changed_files() {
  local base="${1:-}"
  if [ -z "$base" ]; then
    base=HEAD~1
    [ "$(git rev-parse main 2>/dev/null)" != "$(git rev-parse HEAD)" ] && base=main
  fi
  git diff --name-only --diff-filter=d "$base" -- 'lib/**.cpp' 'tools/**.cpp'
}

# Each of these alone costs as much as all the others together: their matchers
# ask for the parents of a node, and the first to ask reads the whole header.
readonly SLOW=(
  readability-identifier-naming llvm-qualified-auto misc-redundant-expression
  misc-static-assert misc-unconventional-assign-operator
  bugprone-assignment-in-if-condition bugprone-bool-pointer-implicit-conversion
  bugprone-branch-clone bugprone-inc-dec-in-conditions bugprone-infinite-loop
  bugprone-integer-division bugprone-terminating-continue modernize-loop-convert
  bugprone-return-const-ref-from-parameter bugprone-standalone-empty
  bugprone-std-namespace-modification bugprone-swapped-arguments
  bugprone-throw-keyword-missing bugprone-throwing-static-initialization
  bugprone-undelegated-constructor bugprone-unused-raii
)
SHOAL_TIDY_CHECKS=""
if [ "${1:-}" = --quick ]; then
  SHOAL_TIDY_CHECKS="$(printf -- '-%s,' "${SLOW[@]}")"
  shift
fi
export SHOAL_TIDY_CHECKS

if [ "${1:-}" = --changed ]; then
  mapfile -t sources < <(changed_files "${2:-}")
else
  mapfile -t sources < <(git ls-files -co --exclude-standard 'lib/**.cpp' 'tools/**.cpp')
fi

export SHOAL_STAMPS="$SHOAL_BUILD/tidy"
mkdir -p "$SHOAL_STAMPS"
SHOAL_HEADERS_HASH="$(cat .clang-tidy $(git ls-files -co --exclude-standard 'include/*' 'lib/**.h' | sort) | sha256sum)"
export SHOAL_HEADERS_HASH

check_one() {
  local source="$1" stamp log
  grep -qF "$SHOAL_ROOT/$source\"" "$SHOAL_BUILD/compile_commands.json" || return 0
  stamp="$SHOAL_STAMPS/$( (echo "$SHOAL_HEADERS_HASH $SHOAL_TIDY_CHECKS $source"; cat "$source") | sha256sum | cut -c1-32)"
  [ -e "$stamp" ] && return 0
  if log="$(clang-tidy-22 --quiet --checks="$SHOAL_TIDY_CHECKS" -p "$SHOAL_BUILD" "$source" 2>&1)"; then
    touch "$stamp"
  else
    grep -vE '^[0-9]+ warnings? (generated|treated)|^Suppressed|^Use -' <<<"$log" | sed "s|$SHOAL_ROOT/||"
    return 1
  fi
}
export -f check_one

[ "${#sources[@]}" -eq 0 ] && { echo "check-tidy: nothing to check"; exit 0; }
if printf '%s\n' "${sources[@]}" | xargs -P "$SHOAL_JOBS" -I{} bash -c 'check_one {}'; then
  echo "check-tidy: ${#sources[@]} files are well"
else
  echo "check-tidy: see the warnings above" >&2
  exit 1
fi
