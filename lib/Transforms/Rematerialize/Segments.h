// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The parts of a forward pass that are computed again one at a time.

#ifndef SHOAL_LIB_TRANSFORMS_REMATERIALIZE_SEGMENTS_H
#define SHOAL_LIB_TRANSFORMS_REMATERIALIZE_SEGMENTS_H

#include "Graph.h"

namespace shoal::remat {

/// Without segments the cut of the fewest bytes would save the arguments alone
/// and run the whole forward pass a second time: no byte saved, and as much
/// held as before. What crosses from one segment to the next is not computed
/// again, so a backward pass repeats one segment at a time.
struct Segments {
  unsigned count = 1;
  /// Of each op; of backward ops it means nothing.
  std::vector<unsigned> ofOp;
  /// Of each value: a forward op of another segment reads it or a view of it.
  std::vector<bool> crosses;
  /// Of each segment the values that backward ops read, or views of which.
  std::vector<std::vector<unsigned>> needed;
  /// Of all ops and values of the graph.
  double cost = 0, bytes = 0;

  void countAll(const Graph &graph);
  /// Whether a backward pass may run the op again.
  bool mayRepeat(const Graph &graph, unsigned op) const;
};

/// Segments end at waists: places of the program order where the fewest bytes
/// pass from forward ops to later ones, as between the layers of a model. A
/// waist is a least place among `gap` ops around it, and `gap` forward ops away
/// from the next. The ops of a `shoal.remat` are a segment.
Segments findSegments(const Graph &graph, unsigned gap);

} // namespace shoal::remat

#endif // SHOAL_LIB_TRANSFORMS_REMATERIALIZE_SEGMENTS_H
