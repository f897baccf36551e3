// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A training step as numbers: what rematerialisation decides on.

#ifndef SHOAL_LIB_TRANSFORMS_REMATERIALIZE_GRAPH_H
#define SHOAL_LIB_TRANSFORMS_REMATERIALIZE_GRAPH_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>
#include <optional>
#include <vector>

namespace shoal::remat {

struct GraphOp {
  /// Numbers of values; of an op with regions also what these read.
  llvm::SmallVector<unsigned, 4> operands;
  llvm::SmallVector<unsigned, 2> results;
  /// Of running it once more, in scalar operations.
  double cost = 0;
  /// Of what it sends, which `cost` has where it may run again.
  double sendCost = 0;
  /// Whether it may run again: no effect, and no collective that is saved.
  bool mayRepeat = true;
  /// A policy saves nothing of it: where the backward pass reads its results,
  /// they are computed again.
  bool mustRepeat = false;
  /// It does run again where the backward pass reads its results, in whatever
  /// segments: it needs arguments alone.
  bool isSentAgain = false;
  /// The results take no memory of their own: result i is operand i in another
  /// form, or, of one operand or none, known from that.
  bool isView = false;
  /// It depends on a cotangent.
  bool isBackward = false;
  /// Results may lie where operands end.
  bool writesOver = false;
  /// Its operands come to lie one behind the other in its result: who has no
  /// other reader may be made there.
  bool isJoin = false;
  /// Held inside of its regions while it runs.
  int64_t innerBytes = 0;
  /// The function behind a `shoal.remat` that it belongs to; 0 for none.
  unsigned remat = 0;
};

struct GraphValue {
  int64_t bytes = 0;
  /// The op that makes it; none of what is there from the beginning.
  std::optional<unsigned> maker;
  /// It is there in the backward pass whether somebody reads it or not, as
  /// arguments and results of the program are.
  bool isHeld = false;
};

/// Ops in program order.
struct Graph {
  std::vector<GraphOp> ops;
  std::vector<GraphValue> values;

  unsigned addValue(int64_t bytes, bool isHeld = false) {
    values.push_back({bytes, std::nullopt, isHeld});
    return values.size() - 1;
  }
  /// Makes the op the maker of its results.
  unsigned addOp(GraphOp op) {
    for (unsigned value : op.results)
      values[value].maker = ops.size();
    ops.push_back(std::move(op));
    return ops.size() - 1;
  }
};

/// The values of which `value` is a view, itself if it is none.
llvm::SmallVector<unsigned> rootsOf(const Graph &graph, unsigned value);

} // namespace shoal::remat

#endif // SHOAL_LIB_TRANSFORMS_REMATERIALIZE_GRAPH_H
