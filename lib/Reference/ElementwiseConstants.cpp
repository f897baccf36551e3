// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Models.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/DialectResourceBlobManager.h"

using namespace mlir;

namespace shoal::reference {

static Scalar scalarOf(ElementType, const APFloat &value) {
  APFloat wide = value;
  bool losesInfo;
  wide.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &losesInfo);
  return {.f = wide.convertToDouble()};
}

static Scalar scalarOf(ElementType type, const APInt &value) {
  return {.i = wrapTo(type, value.getSExtValue())};
}

template <typename Value>
static Tensor fromElements(const TensorType &type, DenseElementsAttr attr) {
  // Elements of less than a byte are packed.
  if (!attr.isSplat() && bitWidth(type.element) >= 8)
    return Tensor::fromBytes(type, attr.getRawData());
  Tensor result(type);
  auto elements = result.getMutableElements();
  if (attr.isSplat())
    llvm::fill(elements, scalarOf(type.element, attr.getSplatValue<Value>()));
  else
    for (auto [element, value] :
         llvm::zip_equal(elements, attr.getValues<Value>()))
      element = scalarOf(type.element, value);
  return result;
}

static FailureOr<Tensor> fromResource(arith::ConstantOp op,
                                      const TensorType &type,
                                      DenseResourceElementsAttr attr) {
  AsmResourceBlob *blob = attr.getRawHandle().getBlob();
  if (!blob)
    return op.emitOpError() << "has no data for resource \""
                            << attr.getRawHandle().getKey() << '"';
  size_t expected = type.numElements() * support::elementSize(type.element);
  if (blob->getData().size() != expected)
    return op.emitOpError()
           << "resource \"" << attr.getRawHandle().getKey() << "\" has "
           << blob->getData().size() << " bytes but " << type.str() << " needs "
           << expected;
  return Tensor::fromBytes(type, blob->getData());
}

static FailureOr<Tensors> evaluateConstant(arith::ConstantOp op,
                                           ArrayRef<Tensor>) {
  TensorType type = resultType(op);
  Attribute value = op.getValue();
  if (auto dense = dyn_cast<DenseElementsAttr>(value))
    return Tensors{isFloat(type.element) ? fromElements<APFloat>(type, dense)
                                         : fromElements<APInt>(type, dense)};
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(value)) {
    FailureOr<Tensor> tensor = fromResource(op, type, resource);
    if (failed(tensor))
      return failure();
    return Tensors{*tensor};
  }
  Tensor scalar(type);
  if (auto number = dyn_cast<FloatAttr>(value))
    scalar.getMutableElements()[0] = scalarOf(type.element, number.getValue());
  else if (auto number = dyn_cast<IntegerAttr>(value))
    scalar.getMutableElements()[0] = scalarOf(type.element, number.getValue());
  else
    return op.emitOpError() << "has a value of an unsupported kind";
  return Tensors{scalar};
}

static FailureOr<Tensors> evaluateSplat(tensor::SplatOp op,
                                        ArrayRef<Tensor> operands) {
  Tensor result(resultType(op));
  llvm::fill(result.getMutableElements(), operands[0][0]);
  return Tensors{result};
}

static FailureOr<Tensors> evaluateEmpty(tensor::EmptyOp op, ArrayRef<Tensor>) {
  return Tensors{Tensor::unspecified(resultType(op))};
}

void registerElementwiseConstantsModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, arith::ArithDialect *) {
    attach<arith::ConstantOp, evaluateConstant>(context);
  });
  registry.addExtension(+[](MLIRContext *context, tensor::TensorDialect *) {
    attach<tensor::SplatOp, evaluateSplat>(context);
    attach<tensor::EmptyOp, evaluateEmpty>(context);
  });
}

} // namespace shoal::reference
