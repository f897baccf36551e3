// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ShapedTypeOf.h"
#include "shoal/Dialect/Rt/IR/InPlace.h"
#include "shoal/Dialect/Rt/IR/Rt.h"
#include "shoal/Dialect/Shoal/IR/AnnotationsOps.h"
#include "shoal/Dialect/Shoal/IR/Axes.h"
#include "shoal/Dialect/Shoal/IR/VerifyUtils.h"
#include "shoal/Dialect/Spmd/IR/CollectiveLaws.h"
#include "shoal/Dialect/Spmd/IR/Moves.h"
#include "shoal/Sharding/Mesh.h"

using namespace mlir;

namespace shoal::rt {
using spmd::parseMoves;
using spmd::printMoves;
} // namespace shoal::rt

#define GET_OP_CLASSES
#include "shoal/Dialect/Rt/IR/RtCollectiveOps.cpp.inc"

namespace shoal::rt {

static SmallVector<AxesAttr> listsOf(ArrayAttr axes) {
  return llvm::to_vector(axes.getAsRange<AxesAttr>());
}

//===----------------------------------------------------------------------===//
// Laws
//===----------------------------------------------------------------------===//

/// (R3)
static MeshOp verifyMesh(Operation *op, SymbolTableCollection &symbols,
                         FlatSymbolRefAttr symbol, ArrayRef<AxesAttr> lists) {
  auto mesh = symbols.lookupNearestSymbolFrom<MeshOp>(op, symbol);
  return succeeded(verifyAxes(op, symbol, mesh, lists)) ? mesh : MeshOp();
}

static LogicalResult verifySameElements(Operation *op, Value input,
                                        Value output) {
  Type expected = shapedTypeOf(input).getElementType();
  Type got = shapedTypeOf(output).getElementType();
  if (expected == got)
    return success();
  return op->emitOpError("expected an output of ")
         << expected << " but got " << got;
}

static LogicalResult verifySameShape(Operation *op, Value input, Value output) {
  if (shapedTypeOf(input).getShape() == shapedTypeOf(output).getShape())
    return verifySameElements(op, input, output);
  return op->emitOpError("expected input and output of one shape but got ")
         << input.getType() << " and " << output.getType();
}

/// (C1) and (C2) of ops whose blocks have the sizes ceil(n / p) of the whole.
static LogicalResult verifyBlocks(Operation *op, SymbolTableCollection &symbols,
                                  FlatSymbolRefAttr symbol, ArrayAttr axes,
                                  Value whole, Value block) {
  SmallVector<AxesAttr> lists = listsOf(axes);
  MeshOp mesh = verifyMesh(op, symbols, symbol, lists);
  ShapedType type = shapedTypeOf(whole);
  if (!mesh ||
      failed(verifyEntryCount(op, "axes", lists.size(), type.getRank())))
    return failure();
  SmallVector<int64_t> sizes;
  for (auto [size, list] : llvm::zip_equal(type.getShape(), lists))
    sizes.push_back(shardSize(size, sizeOf(list.getAxes(), mesh.getMesh())));
  if (shapedTypeOf(block).getShape() != ArrayRef<int64_t>(sizes))
    return op->emitOpError("expected blocks of ")
           << type << " to be " << type.clone(sizes) << " but got "
           << block.getType();
  return verifySameElements(op, whole, block);
}

//===----------------------------------------------------------------------===//
// axis_index
//===----------------------------------------------------------------------===//

LogicalResult AxisIndexOp::verifySymbolUses(SymbolTableCollection &symbols) {
  if (!verifyMesh(*this, symbols, getMeshAttr(), getAxes()))
    return failure();
  ShapedType type = shapedTypeOf(getOutput());
  if (type.getRank() != 0 || !type.getElementType().isInteger(32)) // (C1)
    return emitOpError("expected a scalar of i32 but got ") << type;
  return success();
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

LogicalResult AllGatherOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyBlocks(*this, symbols, getMeshAttr(), getAxes(), getOutput(),
                      getInput());
}

LogicalResult AllSliceOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyBlocks(*this, symbols, getMeshAttr(), getAxes(), getInput(),
                      getOutput());
}

LogicalResult
ReduceScatterOp::verifySymbolUses(SymbolTableCollection &symbols) {
  if (failed(verifyBlocks(*this, symbols, getMeshAttr(), getAxes(), getInput(),
                          getOutput())))
    return failure();
  return spmd::verifyReduction(*this, getKind(), // (C3)
                               shapedTypeOf(getInput()).getElementType());
}

//===----------------------------------------------------------------------===//
// all_reduce
//===----------------------------------------------------------------------===//

LogicalResult AllReduceOp::verifySymbolUses(SymbolTableCollection &symbols) {
  if (!verifyMesh(*this, symbols, getMeshAttr(), getAxes()) ||
      failed(verifySameShape(*this, getInput(), getOutput()))) // (C1)
    return failure();
  return spmd::verifyReduction(*this, getKind(), // (C2)
                               shapedTypeOf(getInput()).getElementType());
}

bool mayWriteOverInput(Operation *call) { return isa<AllReduceOp>(call); }

//===----------------------------------------------------------------------===//
// all_to_all
//===----------------------------------------------------------------------===//

LogicalResult AllToAllOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto moves = llvm::to_vector(getMoves().getAsRange<spmd::MoveAttr>());
  MeshOp mesh = verifyMesh(*this, symbols, getMeshAttr(),
                           llvm::map_to_vector(moves, [](spmd::MoveAttr move) {
                             return move.getAxes();
                           }));
  if (!mesh)
    return failure();
  if (moves.empty()) // (C1)
    return emitOpError("expected a move");
  return spmd::verifyMoves(*this, moves, mesh.getMesh(), // (C1) to (C3)
                           shapedTypeOf(getInput()), shapedTypeOf(getOutput()),
                           "the output");
}

//===----------------------------------------------------------------------===//
// ragged_all_to_all
//===----------------------------------------------------------------------===//

LogicalResult
RaggedAllToAllOp::verifySymbolUses(SymbolTableCollection &symbols) {
  MeshOp mesh = verifyMesh(*this, symbols, getMeshAttr(), getAxes());
  if (!mesh || failed(spmd::verifyRagged( // (C1), (C2)
                   *this, sizeOf(getAxes().getAxes(), mesh.getMesh()),
                   shapedTypeOf(getInput()), shapedTypeOf(getOutput()),
                   shapedTypeOf(getSendSizes()))))
    return failure();
  for (Value counts : {getInputOffsets(), getOutputOffsets(), getRecvSizes()})
    if (failed(verifySameShape(*this, getSendSizes(), counts))) // (C2)
      return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// collective_permute
//===----------------------------------------------------------------------===//

LogicalResult
CollectivePermuteOp::verifySymbolUses(SymbolTableCollection &symbols) {
  MeshOp source = verifyMesh(*this, symbols, getMeshAttr(), getSourceAxes());
  if (!source)
    return failure();
  MeshOp target =
      verifyMesh(*this, symbols, getTargetMeshAttr(), getTargetAxes());
  if (!target || failed(verifySameShape(*this, getInput(), getOutput())) ||
      failed(spmd::verifySameAxes(*this, source, target))) // (C1), (C3)
    return failure();
  return spmd::verifyPermutation(*this, getSourceAxes(), // (C2), (C3)
                                 getTargetAxes(), source.getMesh(),
                                 static_cast<int64_t>(getShift()), getPairs());
}

//===----------------------------------------------------------------------===//
// exchange
//===----------------------------------------------------------------------===//

/// (C3)
static LogicalResult verifyNumbers(Operation *op, unsigned number,
                                   ExchangeDimAttr dim, MeshAttr target) {
  auto error = [&] { return op->emitOpError() << "dims[" << number << "]: "; };
  if (dim.getSize() < 0 || dim.getRows() < 0)
    return error() << "size " << dim.getSize() << " or rows " << dim.getRows()
                   << " is negative";
  if (dim.getDivisor() < 1)
    return error() << "divisor " << dim.getDivisor() << " is less than 1";
  return spmd::verifyReach(op, dim.getStep(), dim.getOffset(),
                           sizeOf(dim.getTarget().getAxes(), target));
}

LogicalResult ExchangeOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto dims = llvm::to_vector(getDims().getAsRange<ExchangeDimAttr>());
  auto axesOf = [&](auto get) {
    return llvm::map_to_vector(
        dims, [&](ExchangeDimAttr dim) { return (dim.*get)(); });
  };
  MeshOp source = verifyMesh(*this, symbols, getMeshAttr(),
                             axesOf(&ExchangeDimAttr::getSource));
  if (!source)
    return failure();
  MeshOp target = verifyMesh(*this, symbols, getTargetMeshAttr(),
                             axesOf(&ExchangeDimAttr::getTarget));
  if (!target || failed(spmd::verifySameAxes(*this, source, target))) // (C4)
    return failure();
  ShapedType input = shapedTypeOf(getInput());
  if (failed(verifyEntryCount(*this, "dims", dims.size(), input.getRank())))
    return failure(); // (C1)
  SmallVector<int64_t> block, window;
  for (auto [number, dim] : llvm::enumerate(dims)) {
    if (failed(verifyNumbers(*this, number, dim, target.getMesh())))
      return failure();
    block.push_back(shardSize(
        dim.getSize(), sizeOf(dim.getSource().getAxes(), source.getMesh())));
    window.push_back(dim.getRows());
  }
  if (input.getShape() != ArrayRef<int64_t>(block)) // (C2)
    return emitOpError("expected an input of ")
           << input.clone(block) << " but got " << input;
  if (shapedTypeOf(getOutput()).getShape() != ArrayRef<int64_t>(window))
    return emitOpError("expected an output of ")
           << input.clone(window) << " but got " << getOutput().getType();
  return verifySameElements(*this, getInput(), getOutput());
}

//===----------------------------------------------------------------------===//
// wait
//===----------------------------------------------------------------------===//

LogicalResult WaitOp::verify() {
  auto number = static_cast<int64_t>(getCollective());
  if (number < 0) // (C1)
    return emitOpError("expected a number of at least 0 but got ") << number;
  return success();
}

} // namespace shoal::rt
