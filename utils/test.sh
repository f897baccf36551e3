#!/usr/bin/env bash
# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Installs what is missing, builds, and runs every check and test. The last line
# is their sum, `N passed, N failed, N skipped`; exits 1 where one failed.
#
# Usage: test.sh [--changed [COMMIT]]
#
# --changed runs what a change can reach (utils/select-tests.py): of what differs
# from COMMIT, by default the one of which all tests have passed in this build.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/env.sh"
cd "$SHOAL_ROOT"

# Written when all tests have passed, of a commit without changes.
readonly TESTED="$SHOAL_BUILD/tested-commit"
case "${1:-}" in
  "") selects=(--all) ;;
  --changed) selects=(--tested "$TESTED" ${2:+--base "$2"}) ;;
  *) shoal_die "usage: test.sh [--changed [COMMIT]]" ;;
esac
commit="$(git rev-parse HEAD 2>/dev/null || true)"
is_clean() { [ -n "$commit" ] && [ -z "$(git status --porcelain)" ]; }
is_clean || commit=""

utils/install-deps.sh

readonly REPORTS="$SHOAL_BUILD/test-reports"
rm -rf "$REPORTS"
mkdir -p "$REPORTS"
"$SHOAL_PYTHON" utils/select-tests.py "${selects[@]}" >"$REPORTS/selection"
[ "${1:-}" != --changed ] || cat "$REPORTS/selection"
outcomes=()

# wants STAGE: whether it is selected; `selected` is what it is given then.
wants() {
  read -ra selected < <(sed -n "s/^$1: //p" "$REPORTS/selection") || true
  [ ${#selected[@]} -gt 0 ]
}

# check NAME SECONDS COMMAND...: runs one runner; its exit code is evidence
# beside the report that it writes to $REPORTS/NAME.xml, if it writes one.
check() {
  local name="$1" limit="$2" code=0 start=$SECONDS
  shift 2
  shoal_step "$name"
  timeout --kill-after=10 "$limit" "$@" </dev/null || code=$?
  [ $code -eq 124 ] && echo "$name: ended after $limit s" >&2
  printf '%s: exit %d after %d s\n' "$name" $code $((SECONDS - start))
  outcomes+=("$name=$code=$((SECONDS - start))")
}

# A file's tests stay with one worker, as they share what they compile.
readonly PYTEST=("$SHOAL_PYTHON" -m pytest -q -rs -p no:cacheprovider)
readonly SHARED=(-n $((SHOAL_JOBS < 8 ? SHOAL_JOBS : 8)) --dist loadfile)
lit="$(llvm-config-22 --bindir)/lit"

if wants build; then
  start=$SECONDS
  shoal_build
  outcomes+=("build=0=$((SECONDS - start))")
fi
if wants format; then check format 120 utils/check-format.sh; fi
if wants includes; then check includes 60 "$SHOAL_PYTHON" utils/check-includes.py; fi
# Of what changed; over all files it takes several minutes: utils/check-tidy.sh.
if wants tidy; then check tidy 2400 utils/check-tidy.sh "${selected[@]}"; fi
# ctest knows the lit suite as one test; it has its own runner and report here.
if wants ctest; then
  check ctest 900 ctest --test-dir "$SHOAL_BUILD" -j "$SHOAL_JOBS" --output-on-failure \
    --no-tests=error --progress --exclude-regex '^lit$' --output-junit "$REPORTS/ctest.xml"
fi
if wants lit; then
  check lit 900 "$lit" -sv -j "$SHOAL_JOBS" --xunit-xml-output "$REPORTS/lit.xml" "${selected[@]/#/$SHOAL_BUILD/}"
fi
if wants python; then
  check python 2700 "${PYTEST[@]}" "${SHARED[@]}" -m "not alone" --junitxml "$REPORTS/python.xml" "${selected[@]}"
fi
# Marked so: they count seconds, or make networks.
if wants alone; then
  check alone 1800 "${PYTEST[@]}" -m alone --junitxml "$REPORTS/alone.xml" "${selected[@]}"
fi
# A wheel of this build, in an environment of its own: under a minute.
if wants package; then check package 600 utils/check-package.sh; fi
# Executables once more, for CUDA on the emulated device; where there is a CUDA
# toolkit to build that.
if wants cuda && [ -f "$SHOAL_BUILD/lib/libshoal_cuda_emulation.so" ]; then
  check cuda 1500 env SHOAL_TEST_TARGET=emulated "${PYTEST[@]}" "${SHARED[@]}" \
    --junitxml "$REPORTS/cuda.xml" "${selected[@]}"
fi

shoal_step "summary"
code=0
summary="$("$SHOAL_PYTHON" utils/count-tests.py "$REPORTS" "${outcomes[@]}")" || code=$?
if [ $code -eq 0 ] && [ "${selects[0]}" = --all ] && is_clean && [ "$commit" = "$(git rev-parse HEAD)" ]; then
  echo "$commit" >"$TESTED"
fi
echo "$summary"
exit $code
