#!/usr/bin/env bash
# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Makes a wheel of the build in $SHOAL_BUILD, installs it in a new virtual
# environment and uses it there. Needs a finished build and nothing from the
# network: what the package depends on is that of .venv.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/env.sh"
cd "$SHOAL_ROOT"

folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
build_type="$(sed -n 's/^CMAKE_BUILD_TYPE:[A-Z]*=//p' "$SHOAL_BUILD/CMakeCache.txt")"

shoal_step "wheel"
"$SHOAL_PYTHON" -m pip wheel -q --disable-pip-version-check --no-build-isolation --no-deps \
  --no-index --wheel-dir "$folder" --config-settings=build-dir="$SHOAL_BUILD" \
  --config-settings=cmake.build-type="$build_type" \
  --config-settings=cmake.define.SHOAL_CUDA_KERNEL_ARCHS="$SHOAL_TESTED_CUDA_ARCH" .

shoal_step "a new environment"
"$SHOAL_PYTHON" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-deps --no-index "$folder"/*.whl
"$SHOAL_PYTHON" -c 'import site; print(site.getsitepackages()[0])' \
  >"$("$folder/venv/bin/python" -c 'import site; print(site.getsitepackages()[0])')/dependencies.pth"

shoal_step "use"
cd "$folder"
export PATH="$folder/venv/bin:$PATH"
unset PYTHONPATH
python -m shoal
python - "$SHOAL_ROOT" <<'END'
import sys
from pathlib import Path

import shoal

package = Path(shoal.__file__).parent
assert Path(sys.prefix) in package.parents, f"{package} is not in the environment"
assert (package / "py.typed").exists() and (package / "_native.pyi").exists()
assert shoal.Machine.read("dgx-h100").name == "dgx-h100"
END
shoal plan mixtral-8x7b --machine h800 --devices 64 --layout --expert-model-parallel-size 8 \
  --pipeline-model-parallel-size 8 --use-distributed-optimizer
cp "$SHOAL_ROOT/examples/moe_layer/moe_layer.mlir" .
shoalc moe_layer.mlir -o moe_layer
mpirun -n 4 ./moe_layer --random-inputs=1
shoal-run moe_layer.mlir --devices=4 --random-inputs=1 --compare
shoal-opt --shoal-partition moe_layer.mlir >partitioned.mlir
grep -q spmd.all_to_all partitioned.mlir
echo "check-package: all well"
