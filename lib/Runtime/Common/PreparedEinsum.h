// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SHOAL_LIB_RUNTIME_COMMON_PREPAREDEINSUM_H
#define SHOAL_LIB_RUNTIME_COMMON_PREPAREDEINSUM_H

#include "Calls.h"
#include "Numeric.h"
#include "shoal/Products/BinaryEinsum.h"

#include <cstdarg>

namespace shoal::rt {

/// An einsum ready to run, any number of times.
struct PreparedEinsum {
  EinsumCall call;
  EinsumSpec spec;
  /// Set where the types differ in a way that kernels do not know: then the
  /// spec is that of the computation, and operands and result are converted.
  struct DeclaredTypes {
    std::array<ElementType, 2> in;
    ElementType out;
  };
  std::optional<DeclaredTypes> declaredTypes;
  int64_t resultElements = 0;
  bool emptySum = false;
  /// A transpose or a copy, for one operand without sums.
  bool isCopy = false;
  Loops<2> copy;
  /// A sum, for one operand.
  LoopProduct sum;
  /// For two.
  BinaryEinsum product;

  /// The result's type in memory.
  ElementType declaredResult() const {
    return declaredTypes ? declaredTypes->out : spec.typeOut;
  }
  /// Whether something is done behind the sums.
  bool hasEpilogue() const {
    return call.numScales != 0 || call.bias ||
           call.activation != Activation::None;
  }
};

/// The arguments of a call behind its descriptor; null for those that it has
/// not.
struct EinsumBuffers {
  std::array<const void *, 2> operands = {}, scales = {};
  const void *bias = nullptr;
  void *out = nullptr;
};
EinsumBuffers takeBuffers(const EinsumCall &call, va_list arguments);

/// Without what is done behind the sums.
EinsumSpec specOf(const EinsumCall &call);

PreparedEinsum prepareEinsum(const EinsumCall &call, const ProductModel &model);

/// The same, made at first use of a descriptor.
const PreparedEinsum &lookUpEinsum(const int64_t *desc,
                                   const ProductModel &model);

/// The product of the letters' sizes.
int64_t elementsOf(const EinsumSpec &spec, const Letters &letters);

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_COMMON_PREPAREDEINSUM_H
