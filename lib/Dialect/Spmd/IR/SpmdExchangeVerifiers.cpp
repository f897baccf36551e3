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
// halo_exchange
//===----------------------------------------------------------------------===//

RowWindow HaloExchangeOp::getWindow() {
  int64_t dim = getDim();
  RankedTensorType type = tensorTypeOf(getResult());
  return {static_cast<int64_t>(getStep()), static_cast<int64_t>(getOffset()),
          static_cast<int64_t>(getDivisor()),
          dim < type.getRank() ? type.getDimSize(dim) : 0};
}

/// (C1)
static LogicalResult verifyNumbers(HaloExchangeOp op) {
  if (failed(verifyDim(op, "dim", op.getDim(),
                       tensorTypeOf(op.getInput()).getRank())))
    return failure();
  if (op.getNumRows() < 0)
    return op.emitOpError() << "size: " << op.getNumRows() << " is negative";
  int64_t divisor = op.getWindow().divisor;
  if (divisor < 1)
    return op.emitOpError() << "divisor: " << divisor << " is less than 1";
  return success();
}

LogicalResult HaloExchangeOp::verify() {
  MeshOp mesh = verifyMesh(*this, getMeshAttr(), getAxes());
  if (!mesh || failed(verifyNumbers(*this)))
    return failure();
  int64_t shards = sizeOf(getAxes().getAxes(), mesh.getMesh());
  RankedTensorType input = tensorTypeOf(getInput());
  RankedTensorType result = tensorTypeOf(getResult());
  int64_t dim = getDim(), block = shardSize(getNumRows(), shards);
  if (input.getDimSize(dim) != block) // (C2)
    return emitOpError() << "operand 0 dim " << dim << ": expected " << block
                         << ", a shard of " << getNumRows() << " rows over "
                         << shards << " devices, but got "
                         << input.getDimSize(dim);
  SmallVector<int64_t> shape(input.getShape());
  if (result.getRank() == input.getRank())
    shape[dim] = result.getDimSize(dim);
  if (failed(verifyResult(*this, 0, shape, input.getElementType()))) // (C3)
    return failure();
  auto [step, offset, divisor, rows] = getWindow();
  return verifyReach(*this, step, offset, shards); // (C4)
}

//===----------------------------------------------------------------------===//
// exchange
//===----------------------------------------------------------------------===//

/// The laws of one end: `part`, as "operand 0", holds shards over `axes`.
static LogicalResult verifyShards(ExchangeOp op, MeshOp mesh, StringRef name,
                                  ArrayAttr axes, StringRef partName,
                                  Value part) {
  ArrayRef<int64_t> shape = op.getShape();
  if (failed(verifyEntryCount(op, name, axes.size(), shape.size()))) // (C2)
    return failure();
  SmallVector<int64_t> sizes;
  for (auto [size, list] : llvm::zip_equal(shape, axes.getAsRange<AxesAttr>()))
    sizes.push_back(shardSize(size, sizeOf(list.getAxes(), mesh.getMesh())));
  return verifyShape(op, partName, part, sizes); // (C3), (C4)
}

LogicalResult ExchangeOp::verify() {
  auto lists = [](ArrayAttr axes) {
    return llvm::to_vector(axes.getAsRange<AxesAttr>());
  };
  MeshOp source = verifyMesh(*this, getMeshAttr(), lists(getSourceAxes()));
  if (!source)
    return failure();
  MeshOp target =
      verifyMesh(*this, getTargetMeshAttr(), lists(getTargetAxes()));
  if (!target || failed(verifySameAxes(*this, source, target))) // (C1)
    return failure();
  if (failed(verifyEntryCount(*this, "shape", getShape().size(),
                              tensorTypeOf(getInput()).getRank()))) // (C2)
    return failure();
  for (auto [d, size] : llvm::enumerate(getShape()))
    if (size < 0)
      return emitOpError() << "shape[" << d << "]: " << size << " is negative";
  if (failed(verifyShards(*this, source, "source_axes", getSourceAxes(),
                          "operand 0", getInput())) ||
      failed(verifyShards(*this, target, "target_axes", getTargetAxes(),
                          "result 0", getResult())))
    return failure();
  return verifyElementType(*this, "result 0", getResult(), // (C4)
                           tensorTypeOf(getInput()).getElementType());
}
