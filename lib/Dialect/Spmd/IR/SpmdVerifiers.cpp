// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "SpmdVerifiers.h"
#include "shoal/Dialect/Shoal/IR/Axes.h"
#include "shoal/Dialect/Shoal/IR/VerifyUtils.h"
#include "shoal/Dialect/Spmd/IR/CollectiveLaws.h"
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

LogicalResult AllToAllOp::verify() {
  auto moves = llvm::to_vector(getMoves().getAsRange<MoveAttr>());
  MeshOp mesh = verifyMesh(
      *this, getMeshAttr(),
      llvm::map_to_vector(moves, [](MoveAttr move) { return move.getAxes(); }));
  if (!mesh)
    return failure();
  return verifyMoves(*this, moves, mesh.getMesh(), // (C1) to (C3)
                     tensorTypeOf(getInput()), tensorTypeOf(getResult()),
                     "result 0");
}

LogicalResult CollectivePermuteOp::verify() {
  MeshOp source = verifyMesh(*this, getMeshAttr(), getSourceAxes());
  if (!source)
    return failure();
  MeshOp target = verifyMesh(*this, getTargetMeshAttr(), getTargetAxes());
  if (!target || failed(verifySameAxes(*this, source, target))) // (C1)
    return failure();
  return verifyPermutation(*this, getSourceAxes(), // (C2) to (C4)
                           getTargetAxes(), source.getMesh(),
                           static_cast<int64_t>(getShift()), getPairs());
}

LogicalResult RaggedAllToAllOp::verify() {
  MeshOp mesh = verifyMesh(*this, getMeshAttr(), getAxes());
  if (!mesh)
    return failure();
  auto input = tensorTypeOf(getInput()), output = tensorTypeOf(getOutput());
  if (failed(verifyRagged(*this, // (C1), (C2)
                          sizeOf(getAxes().getAxes(), mesh.getMesh()), input,
                          output, tensorTypeOf(getSendSizes()))))
    return failure();
  int64_t most = std::min(input.getDimSize(0), output.getDimSize(0));
  int64_t mean = getMeanRows().value_or(0);
  if (mean >= 0 && mean <= most)
    return success();
  return emitOpError("expected mean_rows") // (C3)
         << " of 0 to " << most << ", the rows of the smaller tensor, but got "
         << mean;
}
