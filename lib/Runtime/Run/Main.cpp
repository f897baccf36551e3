// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// main() of every executable.

#include "Run.h"

using namespace shoal::rt;

int main(int argc, char **argv) {
  // Without a destructor: a GPU's driver may be gone before static objects are.
  static Target *target = makeTarget().release();
  return runProgram(argc, argv, *target);
}
