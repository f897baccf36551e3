// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What ranks tell each other beside tensors, under mpirun.

#include "Job/World.h"

#include <cstdio>
#include <string>

using shoal::rt::World;

/// Rank r says r times "r" and a line's end; none is as long as the pieces.
static std::string lineOf(int rank) {
  return std::string(rank, static_cast<char>('0' + rank)) + "\n";
}

int main(int argc, char **argv) {
  World world(&argc, &argv);
  std::string expected;
  for (int rank = 0; rank < world.size(); ++rank)
    expected += lineOf(rank);

  int failures = 0;
  for (size_t pieceBytes : {1, 2, 3, 100}) {
    std::string all;
    world.gather(
        lineOf(world.rank()), [&](std::string_view piece) { all += piece; },
        pieceBytes);
    failures += all != (world.isRoot() ? expected : "");
  }
  if (failures)
    std::fprintf(stderr, "rank %d: %d failures\n", world.rank(), failures);
  return failures != 0;
}
