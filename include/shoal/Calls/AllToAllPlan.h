// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The geometry of all_to_all.

#ifndef SHOAL_CALLS_ALLTOALLPLAN_H
#define SHOAL_CALLS_ALLTOALLPLAN_H

#include "shoal/Calls/CollectiveCalls.h"
#include "shoal/Calls/Sizes.h"
#include "shoal/Support/Threshold.h"

namespace shoal::calls {

/// Axes of `p` devices leave dimension `from` for dimension `to`.
struct Move {
  size_t from;
  size_t to;
  int64_t p;
};

inline const support::Threshold
    longRunBytes("bytes of a piece's run that is a message of its own",
                 64 << 10),
    manyRuns("runs of a device's pieces that are packed", 257);

/// A piece as messages that need no staging: its runs of elements that lie
/// dense in both tensors, and the dimensions in front of those that a run is
/// of.
struct PieceRuns {
  int64_t elements;
  size_t numOuterDims;
};

/// Which piece goes where. All pieces have one shape, padded.
struct AllToAllPlan {
  std::vector<int64_t> in;
  std::vector<int64_t> out;
  std::vector<Move> moves;
  Axes axes;
  /// Into how many pieces each dimension is cut, and a piece's shape.
  std::vector<int64_t> cuts, piece;

  explicit AllToAllPlan(const AllToAllCall &call)
      : in(call.in), out(call.out), cuts(in.size(), 1) {
    for (const AxesMove &move : call.moves) {
      auto from = static_cast<size_t>(move.from);
      auto to = static_cast<size_t>(move.to);
      moves.push_back({from, to, shardCount(move.axes)});
      axes.insert(axes.end(), move.axes.begin(), move.axes.end());
      cuts[to] *= moves.back().p;
    }
    for (size_t d = 0; d < in.size(); ++d)
      piece.push_back(ceilDiv(in[d], cuts[d]));
  }

  int64_t numPieces() const { return shardCount(axes); }

  /// Where a member's piece begins: in the input, by the moves to each
  /// dimension, or in the output, by the moves from it.
  std::vector<int64_t> begin(int64_t member, size_t Move::*dim) const {
    std::vector<int64_t> index(in.size(), 0), scale(in.size(), 1);
    for (size_t m = moves.size(); m-- > 0;) {
      size_t d = moves[m].*dim;
      index[d] += member % moves[m].p * scale[d];
      scale[d] *= moves[m].p;
      member /= moves[m].p;
    }
    for (size_t d = 0; d < in.size(); ++d)
      index[d] *= piece[d];
    return index;
  }

  std::vector<int64_t> extent(const std::vector<int64_t> &begin,
                              const std::vector<int64_t> &shape) const {
    std::vector<int64_t> extent(shape.size());
    for (size_t d = 0; d < shape.size(); ++d)
      extent[d] = rowsBefore(shape[d], begin[d], piece[d]);
    return extent;
  }

  /// True if the pieces of the members lie one after another in a tensor of
  /// this shape, so that it needs no staging.
  bool inOrder(const std::vector<int64_t> &shape, size_t Move::*dim) const {
    size_t first = moves[0].*dim;
    int64_t p = 1;
    for (const Move &move : moves) {
      if (move.*dim != first)
        return false;
      p *= move.p;
    }
    for (size_t d = 0; d < shape.size(); ++d) {
      bool fits = d == first ? shape[d] == p * piece[d] : shape[d] == piece[d];
      if (!fits || (d < first && shape[d] != 1))
        return false;
    }
    return true;
  }

  /// Whether pieces lie one after another where they are sent from, and where
  /// they get to.
  bool sendsInOrder() const { return inOrder(in, &Move::to); }
  bool receivesInOrder() const { return inOrder(out, &Move::from); }

  /// Nothing where pieces lie in order anyway, are padded, or would be many
  /// messages, or short ones, each of which costs some microseconds.
  std::optional<PieceRuns> runs(ElementType type) const {
    std::vector<int64_t> wholeIn = piece, wholeOut = piece;
    for (size_t d = 0; d < in.size(); ++d)
      wholeIn[d] *= cuts[d];
    for (const Move &move : moves)
      wholeOut[move.from] *= move.p;
    if (wholeIn != in || wholeOut != out)
      return std::nullopt;
    if (sendsInOrder() && receivesInOrder())
      return std::nullopt;
    PieceRuns runs{1, in.size()};
    bool isDense = true;
    while (runs.numOuterDims > 0 && isDense) {
      size_t d = --runs.numOuterDims;
      runs.elements *= piece[d];
      isDense = piece[d] == in[d] && piece[d] == out[d];
    }
    int64_t messages =
        (numPieces() - 1) * (support::numElements(piece) / runs.elements);
    if (!longRunBytes.isReachedBy(bytesOf(type, {&runs.elements, 1})) ||
        manyRuns.isReachedBy(messages))
      return std::nullopt;
    return runs;
  }
};

} // namespace shoal::calls

#endif // SHOAL_CALLS_ALLTOALLPLAN_H
