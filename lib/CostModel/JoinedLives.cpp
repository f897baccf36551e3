// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/CostModel/JoinedLives.h"
#include "llvm/ADT/STLExtras.h"

using namespace shoal;

std::pair<int64_t, int64_t> HeldProfile::peak() const {
  int64_t held = 0, most = 0, place = 0;
  for (auto [at, change] : llvm::enumerate(changes)) {
    held += change;
    if (held > most) {
      most = held;
      place = int64_t(at);
    }
  }
  return {place, most};
}

Life JoinedLives::inPlace() const {
  Life life = whole;
  for (const Life &part : parts)
    life.first = std::min(life.first, part.first);
  return life;
}

llvm::SmallVector<bool>
shoal::chooseInPlace(HeldProfile &held, llvm::ArrayRef<JoinedLives> joins) {
  llvm::SmallVector<bool> isChosen(joins.size());
  auto order = llvm::to_vector(llvm::seq<size_t>(joins.size()));
  llvm::sort(order, [&](size_t a, size_t b) {
    return std::pair(-joins[a].whole.bytes, a) <
           std::pair(-joins[b].whole.bytes, b);
  });
  int64_t most = held.most();
  for (size_t number : order) {
    const JoinedLives &join = joins[number];
    HeldProfile before = held;
    held.remove(join.whole);
    held.add(join.inPlace());
    for (const Life &part : join.parts)
      held.remove(part);
    int64_t now = held.most();
    isChosen[number] = now <= most;
    if (isChosen[number])
      most = now;
    else
      held = std::move(before);
  }
  return isChosen;
}
