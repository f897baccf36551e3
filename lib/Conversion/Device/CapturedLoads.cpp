// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "CapturedLoads.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include <numeric>

using namespace mlir;
using namespace shoal;

//===----------------------------------------------------------------------===//
// Addresses
//===----------------------------------------------------------------------===//

static std::optional<int64_t> asConstant(Value value) {
  APInt constant;
  if (!matchPattern(value, m_ConstantInt(&constant)))
    return std::nullopt;
  return constant.getSExtValue();
}

static bool isLinear(AffineExpr expr) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return constant.getValue() >= 0;
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return true; // A dimension or a symbol.
  bool isScaled = binary.getKind() == AffineExprKind::Mul &&
                  isa<AffineConstantExpr>(binary.getRHS());
  return (isScaled || binary.getKind() == AffineExprKind::Add) &&
         isLinear(binary.getLHS()) && isLinear(binary.getRHS());
}

static void addIndex(Value index, int64_t factor, CapturedLoad &load);

/// Adds `expr * factor`, a linear expression.
static void addLinear(AffineExpr expr, int64_t factor, affine::AffineApplyOp op,
                      CapturedLoad &load) {
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return addIndex(op.getDimOperands()[dim.getPosition()], factor, load);
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
    return addIndex(op.getSymbolOperands()[symbol.getPosition()], factor, load);
  if (auto constant = dyn_cast<AffineConstantExpr>(expr)) {
    load.offset += constant.getValue() * factor;
    return;
  }
  auto binary = cast<AffineBinaryOpExpr>(expr);
  if (binary.getKind() == AffineExprKind::Mul) {
    auto scale = cast<AffineConstantExpr>(binary.getRHS());
    return addLinear(binary.getLHS(), factor * scale.getValue(), op, load);
  }
  addLinear(binary.getLHS(), factor, op, load);
  addLinear(binary.getRHS(), factor, op, load);
}

/// Adds `index * factor` to the load's address. What is negative is left to a
/// term: then no sum of parts is greater than the whole.
static void addIndex(Value index, int64_t factor, CapturedLoad &load) {
  Operation *op = index.getDefiningOp();
  std::optional<int64_t> constant = asConstant(index);
  if (constant && *constant >= 0) {
    load.offset += *constant * factor;
    return;
  }
  if (auto loop = dyn_cast_if_present<linalg::IndexOp>(op)) {
    load.strides[loop.getDim()] += factor;
    return;
  }
  if (isa_and_present<arith::AddIOp>(op)) {
    addIndex(op->getOperand(0), factor, load);
    addIndex(op->getOperand(1), factor, load);
    return;
  }
  if (isa_and_present<arith::MulIOp>(op))
    for (unsigned i : {0, 1})
      if (auto scale = asConstant(op->getOperand(i)); scale && *scale >= 0)
        return addIndex(op->getOperand(1 - i), *scale * factor, load);
  if (auto apply = dyn_cast_if_present<affine::AffineApplyOp>(op);
      apply && isLinear(apply.getAffineMap().getResult(0)))
    return addLinear(apply.getAffineMap().getResult(0), factor, apply, load);
  auto *found = llvm::find_if(
      load.terms, [&](const auto &term) { return term.first == index; });
  if (found != load.terms.end())
    found->second += factor;
  else
    load.terms.push_back({index, factor});
}

static CapturedLoad analyzeLoad(linalg::GenericOp op, memref::LoadOp loadOp) {
  CapturedLoad load{loadOp, 0, SmallVector<int64_t>(op.getNumLoops(), 0), {}};
  auto [strides, offset] = loadOp.getMemRefType().getStridesAndOffset();
  load.offset = offset;
  for (auto [index, stride] : llvm::zip_equal(loadOp.getIndices(), strides))
    if (stride != 0)
      addIndex(index, stride, load);
  return load;
}

SmallVector<CapturedLoad> shoal::findCapturedLoads(linalg::GenericOp op) {
  SmallVector<CapturedLoad> loads;
  for (auto load : op.getBody()->getOps<memref::LoadOp>())
    loads.push_back(analyzeLoad(op, load));
  return loads;
}

//===----------------------------------------------------------------------===//
// Accesses
//===----------------------------------------------------------------------===//

static LogicalResult verifyLoad(linalg::GenericOp op, memref::LoadOp load) {
  if (load->getBlock() != op.getBody())
    return load.emitError("a kernel reads buffers that are no operands in its "
                          "body, but not inside of ")
           << load->getParentOp()->getName();
  MemRefType type = load.getMemRefType();
  if (!isKernelBuffer(type) ||
      llvm::any_of(type.getStridesAndOffset().first,
                   [](int64_t stride) { return stride < 0; }))
    return load.emitError("a kernel reads through indices from a buffer with a "
                          "static layout of strides that are not negative and "
                          "elements of numbers, but got ")
           << type;
  return success();
}

/// All elements of the buffer.
static ElementRange rangeOf(MemRefType type) {
  auto [strides, offset] = type.getStridesAndOffset();
  ElementRange range{offset, offset};
  for (auto [size, stride] : llvm::zip_equal(type.getShape(), strides))
    range.last += (size - 1) * stride;
  return range;
}

LogicalResult shoal::addCapturedAccesses(linalg::GenericOp op, LoopNest &nest) {
  WalkResult walk = op.getBody()->walk(
      [&](memref::LoadOp load) { return WalkResult(verifyLoad(op, load)); });
  if (walk.wasInterrupted())
    return failure();
  for (const CapturedLoad &load : findCapturedLoads(op)) {
    memref::LoadOp loadOp = load.op;
    MemRefType type = loadOp.getMemRefType();
    Access access;
    access.elementBytes =
        llvm::divideCeil(type.getElementType().getIntOrFloatBitWidth(), 8);
    access.offset = load.offset;
    access.strides = load.strides;
    access.isRead = true;
    access.whole = rangeOf(type);
    for (auto [value, stride] : load.terms)
      access.termUnit = std::gcd(access.termUnit, stride);
    nest.accesses.push_back(access);
  }
  return success();
}

namespace {

/// The loops of the nest that values of the body depend on.
struct Dependences {
  linalg::GenericOp op;
  const LoopNest &nest;
  SmallVector<bool> loops;

  void add(const Access &access) {
    for (size_t loop = 0; loop < loops.size(); ++loop)
      loops[loop] |= access.strides[loop] != 0;
  }
  void add(Value value) {
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      if (argument.getOwner() != op.getBody())
        return;
      if (argument.getArgNumber() >= op.getNumDpsInputs())
        loops.assign(loops.size(), true); // what iterations before have left
      else
        add(nest.accesses[argument.getArgNumber()]);
      return;
    }
    Operation *made = value.getDefiningOp();
    if (made->getBlock() != op.getBody())
      return;
    if (auto index = dyn_cast<linalg::IndexOp>(made)) {
      if (auto loop = nest.indices[index.getDim()].loop)
        loops[*loop] = true;
      return;
    }
    if (made->getNumRegions() != 0)
      loops.assign(loops.size(), true); // whatever it reads inside
    for (Value operand : made->getOperands())
      add(operand);
  }
};

} // namespace

void shoal::findJumps(linalg::GenericOp op, LoopNest &nest) {
  unsigned number = op->getNumOperands();
  for (const CapturedLoad &load : findCapturedLoads(op)) {
    Dependences found{op, nest, SmallVector<bool>(nest.loops.size(), false)};
    for (auto [value, stride] : load.terms)
      found.add(value);
    nest.accesses[number++].jumps = found.loops;
  }
}
