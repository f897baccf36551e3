// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SHOAL_LIB_REFERENCE_CONTRACTION_H
#define SHOAL_LIB_REFERENCE_CONTRACTION_H

#include "shoal/Dialect/Shoal/IR/ContractionOps.h"
#include "shoal/Reference/Tensor.h"

namespace shoal::reference {

/// The einsum of one or two operands, summed in f64 or modulo 2^64, rounded
/// once to elements of `type`, which is the result's.
Tensor evaluateSpec(const EinsumSpec &spec, llvm::ArrayRef<Tensor> operands,
                    const TensorType &type);

} // namespace shoal::reference

#endif // SHOAL_LIB_REFERENCE_CONTRACTION_H
