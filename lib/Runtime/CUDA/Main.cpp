// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// main() of every executable for CUDA.

#include "../Common/Run.h"
#include "DeviceTarget.h"
#include "shoal/Runtime/ABI.h"

using namespace shoal::rt;

int main(int argc, char **argv) {
  // Without a destructor: the driver may be gone before static objects are.
  auto *target =
      new DeviceTarget({shoal_program_image, shoal_program_constants});
  return runProgram(argc, argv, *target);
}
