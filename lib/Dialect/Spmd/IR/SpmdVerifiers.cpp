// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "SpmdVerifiers.h"
#include "shoal/Dialect/Shoal/IR/Axes.h"
#include "shoal/Dialect/Shoal/IR/FloatTypes.h"
#include "shoal/Dialect/Shoal/IR/VerifyUtils.h"
#include "shoal/Sharding/Mesh.h"

using namespace mlir;
using namespace shoal;
using namespace shoal::spmd;

//===----------------------------------------------------------------------===//
// Shared laws
//===----------------------------------------------------------------------===//

MeshOp shoal::spmd::verifyMesh(Operation *op, FlatSymbolRefAttr symbol,
                               ArrayRef<AxesAttr> lists) {
  MeshOp mesh = lookupMesh(op, symbol);
  return succeeded(verifyAxes(op, symbol, mesh, lists)) ? mesh : MeshOp();
}

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

/// The laws of ops with a list of axes per dimension: `whole` has the sizes n,
/// `part` the sizes ceil(n / p). `partName` is "result 0" or "operand 0".
static LogicalResult verifyParts(Operation *op, FlatSymbolRefAttr symbol,
                                 ArrayAttr axes, Value whole, Value part,
                                 StringRef partName) {
  auto lists = llvm::to_vector(axes.getAsRange<AxesAttr>());
  MeshOp mesh = verifyMesh(op, symbol, lists);
  RankedTensorType type = tensorTypeOf(whole);
  if (!mesh || failed(verifyEntryCount(op, "axes", lists.size(),
                                       type.getRank()))) // (C1)
    return failure();
  SmallVector<int64_t> sizes;
  for (auto [size, list] : llvm::zip_equal(type.getShape(), lists))
    sizes.push_back(shardSize(size, sizeOf(list.getAxes(), mesh.getMesh())));
  if (failed(verifyShape(op, partName, part, sizes))) // (C2)
    return failure();
  return verifyElementType(op, partName, part, type.getElementType());
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

LogicalResult AxisIndexOp::verify() {
  return success(verifyMesh(*this, getMeshAttr(), getAxes()) != nullptr);
}

LogicalResult AllSliceOp::verify() {
  return verifyParts(*this, getMeshAttr(), getAxes(), getInput(), getResult(),
                     "result 0");
}

LogicalResult AllGatherOp::verify() {
  return verifyParts(*this, getMeshAttr(), getAxes(), getResult(), getInput(),
                     "operand 0");
}

/// Sums of f8 are for pieces of which one is not zero, as gathers from split
/// rows have them: other sums are refused where programs write them.
static LogicalResult verifyReduction(Operation *op, ReduceKind kind,
                                     Type element) {
  bool isSum = kind == ReduceKind::Sum && isFloat8(element);
  return isSum ? success() : verifyCombiner(op, kind, element);
}

LogicalResult AllReduceOp::verify() {
  if (!verifyMesh(*this, getMeshAttr(), getAxes()))
    return failure();
  return verifyReduction(*this, getKind(), // (C1)
                         tensorTypeOf(getInput()).getElementType());
}

LogicalResult ReduceScatterOp::verify() {
  if (failed(verifyParts(*this, getMeshAttr(), getAxes(), getInput(),
                         getResult(), "result 0")))
    return failure();
  return verifyReduction(*this, getKind(), // (C3)
                         tensorTypeOf(getInput()).getElementType());
}

/// Whether some n has ceil(n / before) = `from` and ceil(n / after) = `to`.
static bool canComeFrom(int64_t from, int64_t before, int64_t to,
                        int64_t after) {
  if (from == 0 || to == 0)
    return from == to;
  // n is in ((from - 1) * before, from * before], and likewise for `to`.
  // 128 bits: sizes may have 56 bits, meshes 31.
  using Wide = __int128;
  return Wide(from - 1) * before < Wide(to) * after &&
         Wide(to - 1) * after < Wide(from) * before;
}

LogicalResult AllToAllOp::verify() {
  auto moves = llvm::to_vector(getMoves().getAsRange<MoveAttr>());
  MeshOp mesh = verifyMesh(
      *this, getMeshAttr(),
      llvm::map_to_vector(moves, [](MoveAttr move) { return move.getAxes(); }));
  if (!mesh)
    return failure();
  RankedTensorType input = tensorTypeOf(getInput());
  SmallVector<int64_t> out(input.getRank(), 1), in(input.getRank(), 1);
  for (auto [i, move] : llvm::enumerate(moves)) { // (C1)
    std::string name = ("moves[" + Twine(i) + "]").str();
    int64_t source = move.getSourceDim(), target = move.getTargetDim();
    if (failed(verifyDim(*this, name, source, input.getRank())) ||
        failed(verifyDim(*this, name, target, input.getRank())))
      return failure();
    if (source == target)
      return emitOpError() << name << ": dimension " << source
                           << " is both source and target";
    out[source] *= sizeOf(move.getAxes().getAxes(), mesh.getMesh());
    in[target] *= sizeOf(move.getAxes().getAxes(), mesh.getMesh());
  }
  if (tensorTypeOf(getResult()).getRank() != input.getRank()) // (C2)
    return emitOpError() << "result 0: expected rank " << input.getRank()
                         << " but got " << tensorTypeOf(getResult()).getRank();
  for (int64_t dim = 0; dim < input.getRank(); ++dim) {
    int64_t from = input.getDimSize(dim);
    int64_t to = tensorTypeOf(getResult()).getDimSize(dim);
    if (!canComeFrom(from, out[dim], to, in[dim]))
      return emitOpError() << "result 0 dim " << dim << ": size " << to
                           << " is not that of " << from << " rows a device, "
                           << "gathered from " << out[dim]
                           << " devices and split over " << in[dim];
  }
  return verifyElementType(*this, "result 0", getResult(),
                           input.getElementType());
}

LogicalResult CollectivePermuteOp::verify() {
  MeshOp source = verifyMesh(*this, getMeshAttr(), getSourceAxes());
  if (!source)
    return failure();
  MeshOp target = verifyMesh(*this, getTargetMeshAttr(), getTargetAxes());
  if (!target)
    return failure();
  if (failed(verifySameAxes(*this, source, target))) // (C1)
    return failure();
  if (!coverSameAxes(getSourceAxes().getAxes(), getTargetAxes().getAxes(),
                     source.getMesh())) // (C2)
    return emitOpError() << "source axes " << toString(getSourceAxes())
                         << " and target axes " << toString(getTargetAxes())
                         << " are not the same in another order";
  int64_t p = sizeOf(getSourceAxes().getAxes(), source.getMesh());
  auto shift = static_cast<int64_t>(getShift());
  if (shift < 0 || shift >= p) // (C3)
    return emitOpError() << "shift " << shift << " is not in the range [0, "
                         << p << ") of the indices over "
                         << toString(getSourceAxes());
  return success();
}
