#!/usr/bin/env bash
# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Installs what is missing, builds, and runs every check and test. The last line
# is their sum, `N passed, N failed, N skipped`; exits 1 where one failed.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/env.sh"
cd "$SHOAL_ROOT"

utils/install-deps.sh
shoal_build

readonly REPORTS="$SHOAL_BUILD/test-reports"
rm -rf "$REPORTS"
mkdir -p "$REPORTS"
outcomes=()

# check NAME SECONDS COMMAND...: runs one runner; its exit code is evidence
# beside the report that it writes to $REPORTS/NAME.xml, if it writes one.
check() {
  local name="$1" limit="$2" code=0 start=$SECONDS
  shift 2
  shoal_step "$name"
  timeout --kill-after=10 "$limit" "$@" </dev/null || code=$?
  [ $code -eq 124 ] && echo "$name: ended after $limit s" >&2
  printf '%s: exit %d after %d s\n' "$name" $code $((SECONDS - start))
  outcomes+=("$name=$code")
}

lit="$(llvm-config-22 --bindir)/lit"
check format 120 utils/check-format.sh
check includes 60 "$SHOAL_PYTHON" utils/check-includes.py
# What the last commit changed; over all files it takes several minutes:
# utils/check-tidy.sh.
check tidy 2400 utils/check-tidy.sh --changed
# ctest knows the lit suite as one test; it has its own runner and report here.
check ctest 900 ctest --test-dir "$SHOAL_BUILD" -j "$SHOAL_JOBS" --output-on-failure \
  --no-tests=error --progress --exclude-regex '^lit$' --output-junit "$REPORTS/ctest.xml"
check lit 900 "$lit" -sv -j "$SHOAL_JOBS" --xunit-xml-output "$REPORTS/lit.xml" "$SHOAL_BUILD/test"
# A file's tests stay with one worker, as they share what they compile. Whose tests count seconds comes
# behind the others: test/python/conftest.py.
readonly PYTEST=("$SHOAL_PYTHON" -m pytest -q -rs -p no:cacheprovider)
readonly SHARED=(-n $((SHOAL_JOBS < 8 ? SHOAL_JOBS : 8)) --dist loadfile)
check python 2700 "${PYTEST[@]}" "${SHARED[@]}" -m "not alone" \
  --junitxml "$REPORTS/python.xml" test/python
check alone 1800 "${PYTEST[@]}" -m alone --junitxml "$REPORTS/alone.xml" test/python
# A wheel of this build, in an environment of its own: under a minute.
check package 600 utils/check-package.sh
# Executables once more, for CUDA on the emulated device; where there is a CUDA
# toolkit to build that.
if [ -f "$SHOAL_BUILD/lib/libshoal_cuda_emulation.so" ]; then
  check cuda 1500 env SHOAL_TEST_TARGET=emulated "${PYTEST[@]}" "${SHARED[@]}" \
    --junitxml "$REPORTS/cuda.xml" test/python/test_{contraction,control_flow,cpu_ops,end_to_end,indexing,ordering,windows}.py
fi

shoal_step "summary"
exec "$SHOAL_PYTHON" utils/count-tests.py "$REPORTS" "${outcomes[@]}"
