// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SHOAL_LIB_RUNTIME_CPU_BINARYEINSUM_H
#define SHOAL_LIB_RUNTIME_CPU_BINARYEINSUM_H

#include "Gemm.h"
#include "LoopProduct.h"

namespace shoal::rt {

/// An einsum of two operands, ready to run any number of times: sums over the
/// letters that one operand has alone, then a matrix product or loops.
class BinaryEinsum {
public:
  BinaryEinsum() = default;
  /// The types are equal, or a small float and f32; no size is 0. `strides` are
  /// those of both operands by letter, 0 for letters that they have not; the
  /// result is dense.
  BinaryEinsum(EinsumSpec spec, std::array<std::vector<int64_t>, 2> strides);

  void run(const void *a, const void *b, void *result) const;

private:
  /// Letters that one operand has alone are summed before the product, or an
  /// operand of another type than its partner is converted.
  struct Preparation {
    bool needed = false;
    LoopProduct sum;
    int64_t elements = 0;
  };

  static Preparation prepareOperand(EinsumSpec &spec, size_t which,
                                    bool toCompute,
                                    std::vector<int64_t> &strides);

  ElementType typeIn = ElementType::F32;
  ElementType typeOut = ElementType::F32;
  ElementType compute = ElementType::F32;
  std::array<Preparation, 2> preparations;
  /// One of the two.
  std::optional<GemmPlan> gemm;
  LoopProduct loops;
};

/// A one of every type, the second operand of sums over one.
const void *oneOf(ElementType type);

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_CPU_BINARYEINSUM_H
