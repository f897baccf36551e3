// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "../Common/Descriptor.h"
#include "../Common/Recorder.h"
#include "StridedCopy.h"
#include "Transfer.h"
#include "shoal/Support/CollectiveBytes.h"

#include <cstring>

using namespace shoal::rt;

namespace {
struct Move {
  size_t from;
  size_t to;
  int64_t p;
};

/// Which piece goes where. All pieces have one shape, padded.
struct Exchange {
  std::vector<int64_t> in;
  std::vector<int64_t> out;
  std::vector<Move> moves;
  Axes axes;
  /// Into how many pieces each dimension is cut, and a piece's shape.
  std::vector<int64_t> cuts, piece;

  explicit Exchange(Descriptor &reader) {
    int64_t rank = reader.number();
    in = reader.numbers(rank);
    out = reader.numbers(rank);
    int64_t count = reader.number();
    cuts.assign(rank, 1);
    for (int64_t m = 0; m < count; ++m) {
      auto from = static_cast<size_t>(reader.number());
      auto to = static_cast<size_t>(reader.number());
      Axes list = reader.axes();
      moves.push_back({from, to, shardCount(list)});
      axes.insert(axes.end(), list.begin(), list.end());
      cuts[to] *= moves.back().p;
    }
    for (int64_t d = 0; d < rank; ++d)
      piece.push_back(ceilDiv(in[d], cuts[d]));
  }

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
};
} // namespace

static void pack(const Exchange &exchange, ElementType type, int64_t p,
                 const void *in, char *packed) {
  int64_t bytes = bytesOf(type, exchange.piece);
  std::vector<int64_t> zero(exchange.in.size(), 0);
  for (int64_t member = 0; member < p; ++member) {
    std::vector<int64_t> begin = exchange.begin(member, &Move::to);
    std::vector<int64_t> extent = exchange.extent(begin, exchange.in);
    char *piece = packed + member * bytes;
    if (extent != exchange.piece)
      std::memset(piece, 0, bytes);
    copyBox({extent, exchange.in, begin, exchange.piece, zero}, type, in,
            piece);
  }
}

static void unpack(const Exchange &exchange, ElementType type, int64_t p,
                   const char *packed, void *out) {
  int64_t bytes = bytesOf(type, exchange.piece);
  std::vector<int64_t> zero(exchange.out.size(), 0);
  for (int64_t member = 0; member < p; ++member) {
    std::vector<int64_t> begin = exchange.begin(member, &Move::from);
    std::vector<int64_t> extent = exchange.extent(begin, exchange.out);
    copyBox({extent, exchange.piece, zero, exchange.out, begin}, type,
            packed + member * bytes, out);
  }
}

extern "C" void shoal_rt_all_to_all(const int64_t *desc, const void *in,
                                    void *out) {
  Descriptor reader(desc);
  int64_t id = reader.number();
  ElementType type = reader.type();
  int64_t mesh = reader.number();
  Exchange exchange(reader);
  int64_t p = shardCount(exchange.axes);
  int64_t bytes = bytesOf(type, exchange.piece);
  Timed timed(Activity::AllToAll, id,
              shoal::support::allToAllSize(exchange.in, exchange.cuts, p) *
                  bytesOf(type, {}));
  if (bytes == 0)
    return;
  if (p == 1)
    return unpack(exchange, type, 1, static_cast<const char *>(in), out);

  const void *send = in;
  if (!exchange.inOrder(exchange.in, &Move::to)) {
    void *staging = Staging::get().at(Staging::Send, p * bytes);
    pack(exchange, type, p, in, static_cast<char *>(staging));
    send = staging;
  }
  bool direct = exchange.inOrder(exchange.out, &Move::from);
  void *receive = direct ? out : Staging::get().at(Staging::Receive, p * bytes);
  BlockType piece(bytes);
  check(MPI_Alltoall(send, 1, piece, receive, 1, piece,
                     Device::get().group(mesh, exchange.axes)),
        "MPI_Alltoall");
  if (!direct)
    unpack(exchange, type, p, static_cast<const char *>(receive), out);
}
