// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Dialect/Spmd/IR/CollectiveLaws.h"
#include "shoal/Dialect/Shoal/IR/Axes.h"
#include "shoal/Dialect/Shoal/IR/FloatTypes.h"
#include "shoal/Dialect/Shoal/IR/VerifyUtils.h"
#include "llvm/ADT/SmallSet.h"

using namespace mlir;
using namespace shoal;
using namespace shoal::spmd;

/// Sizes may have 56 bits, meshes 31.
using Wide = __int128;

LogicalResult shoal::spmd::verifySameAxes(Operation *op, MeshOp source,
                                          MeshOp target) {
  if (source.getMesh().getAxes() == target.getMesh().getAxes())
    return success();
  InFlightDiagnostic error =
      op->emitOpError() << "mesh @" << target.getSymName()
                        << " has other axes than mesh @" << source.getSymName();
  error.attachNote(target.getLoc()) << "the target mesh is defined here";
  error.attachNote(source.getLoc()) << "the source mesh is defined here";
  return error;
}

LogicalResult shoal::spmd::verifyReduction(Operation *op, ReduceKind kind,
                                           Type element) {
  bool isSum = kind == ReduceKind::Sum && isFloat8(element);
  return isSum ? success() : verifyCombiner(op, kind, element);
}

//===----------------------------------------------------------------------===//
// Moves
//===----------------------------------------------------------------------===//

/// Whether some n has ceil(n / before) = `from` and ceil(n / after) = `to`.
static bool canComeFrom(int64_t from, int64_t before, int64_t to,
                        int64_t after) {
  if (from == 0 || to == 0)
    return from == to;
  // n is in ((from - 1) * before, from * before], and likewise for `to`.
  return Wide(from - 1) * before < Wide(to) * after &&
         Wide(to - 1) * after < Wide(from) * before;
}

static LogicalResult verifyMove(Operation *op, unsigned number, MoveAttr move,
                                int64_t rank) {
  std::string name = ("moves[" + Twine(number) + "]").str();
  int64_t source = move.getSourceDim(), target = move.getTargetDim();
  if (failed(verifyDim(op, name, source, rank)) ||
      failed(verifyDim(op, name, target, rank)))
    return failure();
  if (source == target)
    return op->emitOpError()
           << name << ": dimension " << source << " is both source and target";
  return success();
}

LogicalResult shoal::spmd::verifyMoves(Operation *op, ArrayRef<MoveAttr> moves,
                                       MeshAttr mesh, ShapedType input,
                                       ShapedType output,
                                       StringRef outputName) {
  // The devices that a dimension leaves, and those that it comes to.
  SmallVector<int64_t> out(input.getRank(), 1), in(input.getRank(), 1);
  for (auto [number, move] : llvm::enumerate(moves)) {
    if (failed(verifyMove(op, number, move, input.getRank())))
      return failure();
    int64_t devices = sizeOf(move.getAxes().getAxes(), mesh);
    out[move.getSourceDim()] *= devices;
    in[move.getTargetDim()] *= devices;
  }
  if (output.getRank() != input.getRank())
    return op->emitOpError()
           << outputName << ": expected rank " << input.getRank() << " but got "
           << output.getRank();
  for (int64_t dim = 0; dim < input.getRank(); ++dim) {
    int64_t from = input.getDimSize(dim), to = output.getDimSize(dim);
    if (!canComeFrom(from, out[dim], to, in[dim]))
      return op->emitOpError()
             << outputName << " dim " << dim << ": size " << to
             << " is not that of " << from << " rows a device, gathered from "
             << out[dim] << " devices and split over " << in[dim];
    if (out[dim] > 1 && in[dim] > 1)
      return op->emitOpError() << "moves: axes leave dimension " << dim
                               << " and others come to it, in one exchange";
  }
  if (output.getElementType() != input.getElementType())
    return op->emitOpError()
           << outputName << ": expected elements of type "
           << input.getElementType() << " but got " << output.getElementType();
  return success();
}

//===----------------------------------------------------------------------===//
// Others
//===----------------------------------------------------------------------===//

/// Of indices less than `p`, each sends and receives at most once.
static LogicalResult verifyPairs(Operation *op, ArrayRef<int64_t> pairs,
                                 int64_t p) {
  if (pairs.size() % 2 != 0)
    return op->emitOpError()
           << "pairs: " << pairs.size()
           << " indices are no pairs of a source and a target";
  llvm::SmallSet<int64_t, 8> sources, targets;
  for (auto [place, index] : llvm::enumerate(pairs)) {
    if (index < 0 || index >= p)
      return op->emitOpError() << "pairs[" << place << "]: index " << index
                               << " is not in the range [0, " << p << ")";
    bool isFirst = place % 2 == 0;
    if (!(isFirst ? sources : targets).insert(index).second)
      return op->emitOpError()
             << "pairs[" << place << "]: index " << index << " is a "
             << (isFirst ? "source" : "target") << " for the second time";
  }
  return success();
}

LogicalResult shoal::spmd::verifyPermutation(
    Operation *op, AxesAttr sourceAxes, AxesAttr targetAxes, MeshAttr mesh,
    int64_t shift, std::optional<ArrayRef<int64_t>> pairs) {
  if (!coverSameAxes(sourceAxes.getAxes(), targetAxes.getAxes(), mesh))
    return op->emitOpError()
           << "source axes " << toString(sourceAxes) << " and target axes "
           << toString(targetAxes) << " are not the same in another order";
  int64_t p = sizeOf(sourceAxes.getAxes(), mesh);
  if (shift < 0 || shift >= p)
    return op->emitOpError()
           << "shift " << shift << " is not in the range [0, " << p
           << ") of the indices over " << toString(sourceAxes);
  if (!pairs)
    return success();
  if (shift != 0)
    return op->emitOpError() << "expected pairs or a shift but got both, pairs "
                                "and shift "
                             << shift;
  return verifyPairs(op, *pairs, p);
}

LogicalResult shoal::spmd::verifyReach(Operation *op, int64_t step,
                                       int64_t offset, int64_t shards) {
  auto magnitude = [](int64_t x) { return x < 0 ? -Wide(x) : Wide(x); };
  Wide reach = magnitude(step) * shards + magnitude(offset);
  if (reach <= Wide(1) << 60)
    return success();
  return op->emitOpError() << "step " << step << " over " << shards
                           << " devices and offset " << offset
                           << " reach past 2^60 rows";
}

//===----------------------------------------------------------------------===//
// Ragged rows
//===----------------------------------------------------------------------===//

LogicalResult shoal::spmd::verifyRagged(Operation *op, int64_t devices,
                                        ShapedType input, ShapedType output,
                                        ShapedType counts) {
  if (input.getRank() == 0)
    return op->emitOpError("expected rows to send but got a scalar");
  if (output.getRank() != input.getRank() ||
      output.getShape().drop_front() != input.getShape().drop_front() ||
      output.getElementType() != input.getElementType())
    return op->emitOpError() << "expected rows of " << input
                             << " to go to rows like them but got " << output;
  Type element = counts.getElementType();
  if (!element.isInteger(32) && !element.isInteger(64))
    return op->emitOpError()
           << "expected offsets and sizes of i32 or i64 but got " << element;
  if (counts.getRank() != 1)
    return op->emitOpError()
           << "expected lists of offsets and sizes but got " << counts;
  int64_t entries = counts.getDimSize(0);
  if (entries == 0 || entries % devices != 0)
    return op->emitOpError() << entries
                             << " offsets and sizes are not the same number "
                                "for each of "
                             << devices << " devices";
  return success();
}
