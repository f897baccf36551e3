// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SHOAL_LIB_SHARDING_ASSIGNMENT_RESHARDTABLE_H
#define SHOAL_LIB_SHARDING_ASSIGNMENT_RESHARDTABLE_H

#include "shoal/Machine/DeviceGroups.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"
#include <cassert>

namespace shoal::assignment {

/// A collective of a plan, and the elements that it sends.
struct SentStep {
  CollectiveKind kind;
  GroupCounts group;
  double elements;
};
using SentSteps = llvm::SmallVector<SentStep, 2>;

/// Reshards over one mesh, whatever problem they are of.
struct ReshardTable {
  /// Of shapes with their manual axes, of these with the size of an element,
  /// and of layouts.
  llvm::StringMap<unsigned> shapes, types, layouts;
  /// By shape, from and to: elements that the plan of a reshard sends, and that
  /// any plan sends at least.
  llvm::DenseMap<uint64_t, double> planned, bounds;
  /// By type, from and to: nanoseconds.
  llvm::DenseMap<uint64_t, double> times;
  /// By AlikeReshard's key, of which there are far fewer.
  llvm::StringMap<SentSteps> plans;
};

/// The number of a text in a map of them, a new one where it is new.
inline unsigned numberOfKey(llvm::StringRef key,
                            llvm::StringMap<unsigned> &map) {
  return map.try_emplace(key, map.size()).first->second;
}

/// All keys are below 2^64.
inline uint64_t reshardKey(unsigned valueClass, unsigned from, unsigned to) {
  assert(from < (1u << 22) && to < (1u << 22) && valueClass < (1u << 20) &&
         "the key would overflow");
  return uint64_t(valueClass) << 44 | uint64_t(from) << 22 | to;
}

} // namespace shoal::assignment

#endif // SHOAL_LIB_SHARDING_ASSIGNMENT_RESHARDTABLE_H
