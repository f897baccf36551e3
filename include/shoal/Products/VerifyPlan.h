// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Plans can be written by hand: what must hold for one to be run.

#ifndef SHOAL_PRODUCTS_VERIFYPLAN_H
#define SHOAL_PRODUCTS_VERIFYPLAN_H

#include "shoal/Products/PlanEinsum.h"
#include "shoal/Support/Result.h"

namespace shoal::products {

/// Laws of a plan alone:
/// (P1) a loop has at least one step, and strides of at least 0; what is
///      prepared or multiplied by loops has no stride where it has no tensor;
/// (P2) there are matrix products or loops, not both; without either there is
///      nothing else;
/// (P3) matrices are such as libraries take (isMatrix);
/// (P4) a packed tensor's scratch is dense, and products stay in it;
/// (P5) oneDNN is a library of CPUs.
support::Status verifyPlan(const ProductPlan &plan);

/// Laws of a plan, which keeps those above, for an einsum:
/// (E1) the result is zero where a letter has size 0, and only there;
/// (E2) whole tensors are converted where mustConvert says so, only there;
/// (E3) loops stay in their tensors, those of results run through them once;
///      what is prepared or packed has no more elements than what it is of;
/// (E4) there are as many terms as the letters have combinations;
/// (E5) types are what the machine's library or loops take.
support::Status verifyPlan(const EinsumSpec &spec, const ProductPlan &plan);

} // namespace shoal::products

#endif // SHOAL_PRODUCTS_VERIFYPLAN_H
