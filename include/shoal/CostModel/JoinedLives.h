// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Arrays whose parts are made where they come to lie. Both the plan of memory
// and estimates of it ask here which are.

#ifndef SHOAL_COSTMODEL_JOINEDLIVES_H
#define SHOAL_COSTMODEL_JOINEDLIVES_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>

namespace shoal {

/// Bytes that are held from one place of a program to another, both included.
struct Life {
  int64_t first = 0, last = 0, bytes = 0;
};

/// How much is held at each place.
class HeldProfile {
public:
  explicit HeldProfile(int64_t places) : changes(places + 1) {}

  void add(const Life &life) { change(life, life.bytes); }
  void remove(const Life &life) { change(life, -life.bytes); }
  /// The most, and the first place that holds so much.
  int64_t most() const { return peak().second; }
  std::pair<int64_t, int64_t> peak() const;

private:
  void change(const Life &life, int64_t bytes) {
    changes[life.first] += bytes;
    changes[life.last + 1] -= bytes;
  }

  llvm::SmallVector<int64_t> changes;
};

/// An array, and what is made apart and ends in a copy to a part of it.
struct JoinedLives {
  Life whole;
  llvm::SmallVector<Life> parts;

  /// That of the array, if the parts are made in it.
  Life inPlace() const;
};

/// Of which arrays the parts are made in place: the largest first, all where
/// the most that is held does not grow for it. `held` has all lives, and has
/// those with the parts in place behind it.
llvm::SmallVector<bool> chooseInPlace(HeldProfile &held,
                                      llvm::ArrayRef<JoinedLives> joins);

} // namespace shoal

#endif // SHOAL_COSTMODEL_JOINEDLIVES_H
