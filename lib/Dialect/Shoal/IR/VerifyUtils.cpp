// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Dialect/Shoal/IR/VerifyUtils.h"
#include "shoal/Dialect/Shoal/IR/FloatTypes.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace shoal;

bool shoal::isCountable(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.hasStaticShape() && isCountable(tensor.getShape());
}

bool shoal::isCountable(ArrayRef<int64_t> shape) {
  int64_t count = 1;
  for (int64_t size : shape)
    if (llvm::MulOverflow(count, std::max<int64_t>(size, 1), count) ||
        count >= int64_t(1) << 56)
      return false;
  return true;
}

LogicalResult shoal::verifyDim(Operation *op, const Twine &name, int64_t dim,
                               int64_t rank) {
  if (dim >= 0 && dim < rank)
    return success();
  return op->emitOpError() << name << ": " << dim
                           << " is not a dimension of a tensor of rank "
                           << rank;
}

LogicalResult shoal::verifyDistinctDims(Operation *op, StringRef name,
                                        ArrayRef<int64_t> dims, int64_t rank) {
  for (auto [i, dim] : llvm::enumerate(dims)) {
    if (failed(verifyDim(op, name + "[" + Twine(i) + "]", dim, rank)))
      return failure();
    if (llvm::is_contained(dims.take_front(i), dim))
      return op->emitOpError()
             << name << ": dimension " << dim << " occurs twice";
  }
  return success();
}

LogicalResult shoal::verifyEntryCount(Operation *op, StringRef name,
                                      int64_t count, int64_t rank) {
  if (count == rank)
    return success();
  return op->emitOpError() << name << ": expected an entry for each of " << rank
                           << " dimensions but got " << count;
}

LogicalResult shoal::verifyShape(Operation *op, const Twine &what, Value value,
                                 ArrayRef<int64_t> expected) {
  ArrayRef<int64_t> shape = tensorTypeOf(value).getShape();
  if (shape.size() != expected.size())
    return op->emitOpError() << what << ": expected rank " << expected.size()
                             << " but got " << shape.size();
  for (auto [dim, sizes] : llvm::enumerate(llvm::zip(shape, expected))) {
    auto [size, wanted] = sizes;
    if (ShapedType::isDynamic(size))
      return op->emitOpError() << what << " dim " << dim << ": expected size "
                               << wanted << " but got ?";
    if (size != wanted)
      return op->emitOpError() << what << " dim " << dim << ": expected size "
                               << wanted << " but got " << size;
  }
  return success();
}

LogicalResult shoal::verifyElementType(Operation *op, const Twine &what,
                                       Value value, Type expected) {
  Type element = tensorTypeOf(value).getElementType();
  if (element == expected)
    return success();
  return op->emitOpError() << what << ": expected elements of type " << expected
                           << " but got " << element;
}

LogicalResult shoal::verifyResult(Operation *op, unsigned i,
                                  ArrayRef<int64_t> shape, Type element) {
  Value result = op->getResult(i);
  if (failed(verifyShape(op, "result " + Twine(i), result, shape)))
    return failure();
  return verifyElementType(op, "result " + Twine(i), result, element);
}

LogicalResult shoal::verifyCustomCall(Operation *op, StringRef target,
                                      StringRef config) {
  auto isNameChar = [](char c) {
    return llvm::isAlnum(c) || c == '_' || c == '.' || c == '$';
  };
  auto expected = [&] {
    return op->emitOpError() << "target \"" << target << "\": expected ";
  };
  if (target.empty() || !llvm::all_of(target, isNameChar))
    return expected() << "letters, digits, '_', '.' and '$'";
  if (target.starts_with("shoal_rt_"))
    return expected() << "no function of the runtime";
  if (config.contains('\0'))
    return op->emitOpError("config: expected no zero bytes");
  return success();
}

LogicalResult shoal::verifyCombiner(Operation *op, ReduceKind kind,
                                    Type element) {
  bool isBitwise = kind == ReduceKind::And || kind == ReduceKind::Or;
  if (isBitwise && !isa<IntegerType>(element))
    return op->emitOpError() << stringifyReduceKind(kind)
                             << ": expected integers but got " << element;
  if (!isBitwise && element.isInteger(1))
    return op->emitOpError() << stringifyReduceKind(kind)
                             << ": expected numbers but got i1; for booleans "
                                "there are and and or";
  bool adds = kind == ReduceKind::Sum || kind == ReduceKind::Prod;
  if (adds && isFloat8(element))
    return op->emitOpError()
           << stringifyReduceKind(kind) << ": expected a wider type than "
           << element << ", which would round every partial result to "
           << APFloat::semanticsPrecision(
                  cast<FloatType>(element).getFloatSemantics())
           << " bits; convert to f32 in front of it";
  return success();
}
