// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SHOAL_LIB_RUNTIME_COMMON_PREPAREDEINSUM_H
#define SHOAL_LIB_RUNTIME_COMMON_PREPAREDEINSUM_H

#include "Numeric.h"
#include "shoal/Products/BinaryEinsum.h"

namespace shoal::rt {

class Descriptor;

/// An einsum ready to run, any number of times.
struct PreparedEinsum {
  /// The descriptor.
  std::vector<int64_t> encoded;
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

  bool isOf(const int64_t *desc) const {
    // An encoding says where it ends: the first difference comes before that.
    return std::equal(encoded.begin(), encoded.end(), desc);
  }

  /// The result's type in memory.
  ElementType declaredResult() const {
    return declaredTypes ? declaredTypes->out : spec.typeOut;
  }
};

/// Reads what shoal_rt_einsum takes, see ABI.h.
EinsumSpec readEinsum(Descriptor &reader);

PreparedEinsum prepareEinsum(const int64_t *desc, const ProductModel &model);

/// The same, made at first use of a descriptor.
const PreparedEinsum &lookUpEinsum(const int64_t *desc,
                                   const ProductModel &model);

/// The product of the letters' sizes.
int64_t elementsOf(const EinsumSpec &spec, const Letters &letters);

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_COMMON_PREPAREDEINSUM_H
