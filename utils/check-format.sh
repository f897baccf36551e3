#!/usr/bin/env bash
# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Checks the form of every file that git tracks or would track: clang-format,
# trailing whitespace, licence header, size, and markers of unfinished work.
#
# Usage: check-format.sh [--fix]     --fix rewrites C++ files and whitespace.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/env.sh"
cd "$SHOAL_ROOT"

readonly MAX_BYTES=$((1024 * 1024))
# Spelled so that this file passes its own check.
readonly MARKER="DO NOT"" SUBMIT"

# Files that exist (a deleted one may still be in the index), by glob.
files() { git ls-files -co --exclude-standard -- "$@" | sort -u | while read -r f; do [ -f "$f" ] && echo "$f"; done || true; }

text_files() { files | grep -vE '\.(png|npy)$' || true; }
cpp_files() { files '*.h' '*.cpp' '*.cu'; }
source_files() { files '*.h' '*.cpp' '*.cu' '*.td' '*.py' '*.sh'; }

fix() {
  cpp_files | xargs -r clang-format-22 -i
  # grep fails where there is nothing to mend.
  { text_files | xargs -r -d '\n' grep -lIE '[[:blank:]]+$' -- || true; } | xargs -r -d '\n' sed -i -E 's/[[:blank:]]+$//'
}

status=0
report() { # what, lines on stdin
  local lines
  lines="$(cat)"
  [ -z "$lines" ] && return 0
  sed "s|^|$1: |" <<<"$lines"
  status=1
}

[ "${1:-}" = --fix ] && fix

report "not formatted (run utils/check-format.sh --fix)" < <(
  cpp_files | xargs -r clang-format-22 --dry-run --Werror 2>&1 | grep -E 'error:' | cut -d: -f1 | sort -u || true)
report "trailing whitespace" < <(
  text_files | xargs -r -d '\n' grep -nIE '[[:blank:]]+$' -- /dev/null | cut -d: -f1,2 || true)
report "no licence header" < <(
  source_files | xargs -r -d '\n' grep -L 'SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception' -- || true)
report "larger than 1 MiB" < <(
  files | while read -r file; do [ "$(stat -c %s "$file")" -le $MAX_BYTES ] || echo "$file"; done)
report "marked \"$MARKER\"" < <(
  text_files | xargs -r -d '\n' grep -lIF "$MARKER" -- || true)

[ $status -eq 0 ] && echo "check-format: all well"
exit $status
