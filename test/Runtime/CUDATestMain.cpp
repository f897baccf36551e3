// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tests of runtime calls on the emulated device, with pointers to their own
// memory.

#include "CollectivesDevice.h"

#include <gtest/gtest.h>
#include <mpi.h>

int main(int argc, char **argv) {
  testing::InitGoogleTest(&argc, argv);
  MPI_Init(&argc, &argv);
  openDevice({}, /*rank=*/0);
  int failed = RUN_ALL_TESTS();
  MPI_Finalize();
  return failed;
}
