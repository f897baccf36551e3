// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Elementwise ops from functions of plain numbers.

#ifndef SHOAL_LIB_REFERENCE_ELEMENTWISE_H
#define SHOAL_LIB_REFERENCE_ELEMENTWISE_H

#include "Models.h"
#include <type_traits>

namespace shoal::reference {

/// A stored element as the parameter type that a function asks for: double for
/// floats; int64_t or uint64_t, the signed or unsigned reading of an integer.
template <typename T>
T read(ElementType type, Scalar element) {
  if constexpr (std::is_same_v<T, double>)
    return element.f;
  else if constexpr (std::is_same_v<T, int64_t>)
    return asSigned(type, element.i);
  else
    return asUnsigned(type, element.i);
}

/// The inverse, brought to the element type.
template <typename T>
Scalar write(ElementType type, T value) {
  if constexpr (std::is_same_v<T, double>)
    return {.f = roundTo(type, value)};
  else
    return {.i = wrapTo(type, static_cast<int64_t>(value))};
}

/// Applies fn to the elements at each index. An operand of rank 0 stands for
/// all indices (the condition of a select).
template <typename R, typename... Args, typename Fn, size_t... I>
Tensor mapElements(const TensorType &type, llvm::ArrayRef<Tensor> operands,
                   Fn fn, R (*)(Args...), std::index_sequence<I...>) {
  Tensor result(type);
  std::array<const Scalar *, sizeof...(Args)> data = {
      operands[I].getElements().data()...};
  std::array<int64_t, sizeof...(Args)> stride = {
      (operands[I].getType().rank() != 0)...};
  int64_t index = 0;
  for (Scalar &element : result.getMutableElements()) {
    element =
        write<R>(type.element, fn(read<Args>(operands[I].getElementType(),
                                             data[I][index * stride[I]])...));
    ++index;
  }
  return result;
}

/// The model of an elementwise op: fn is a lambda without captures.
template <typename Op, auto fn>
llvm::FailureOr<Tensors> evaluateElementwise(Op op,
                                             llvm::ArrayRef<Tensor> operands) {
  auto mapOver = [&]<typename R, typename... Args>(R (*signature)(Args...)) {
    return mapElements(resultType(op), operands, fn, signature,
                       std::index_sequence_for<Args...>());
  };
  return Tensors{mapOver(+fn)};
}

template <typename Op, auto fn>
void attachElementwise(mlir::MLIRContext *context) {
  attach<Op, evaluateElementwise<Op, fn>>(context);
}

} // namespace shoal::reference

#endif // SHOAL_LIB_REFERENCE_ELEMENTWISE_H
