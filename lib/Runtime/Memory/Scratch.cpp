// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Scratch.h"
#include "../Program/Fatal.h"
#include "shoal/Calls/Scratch.h"

#include <utility>

namespace shoal::rt {

static bool isGuarded = false;

void Scratch::setGuarded(bool guarded) { isGuarded = guarded; }

void *Scratch::take(int64_t bytes) {
  int64_t rounded = calls::sumOfPieces({bytes});
  if (rounded > left)
    fatal("a call needs " + std::to_string(rounded) +
          " bytes of scratch where it has " + std::to_string(left));
  left -= rounded;
  if (!isGuarded)
    return std::exchange(next, next + rounded);
  guarded.emplace_back(bytes, /*hasZones=*/true);
  if (!guarded.back())
    fatal("not enough memory to check that of a call");
  guarded.back().spoil();
  return guarded.back().get();
}

Scratch::~Scratch() {
  for (const GuardedBuffer &piece : guarded)
    expectUntouched(piece, "a call's scratch");
}

} // namespace shoal::rt
