// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "GroupedProduct.h"
#include "KernelLibrary.h"

namespace shoal::rt {

namespace {

/// The loops of a group's product by their role; operands 0 and 1 are a and b,
/// 2 the result.
struct Roles {
  Loops<4> batch;  // a, b, bounds, result
  Loops<3> groups; // a, b, bounds
  Loops<3> rows, columns, terms;
};

} // namespace

/// None if a letter is summed in one operand alone.
static std::optional<Roles> findRoles(const RaggedPlan &plan, bool swaps) {
  Roles roles;
  RaggedPlan::Tensor a = swaps ? RaggedPlan::In1 : RaggedPlan::In0;
  RaggedPlan::Tensor b = swaps ? RaggedPlan::In0 : RaggedPlan::In1;
  for (size_t l = 0; l < plan.sizes.size(); ++l) {
    auto letter = static_cast<int64_t>(l);
    auto has = [&](RaggedPlan::Tensor tensor) {
      return contains(plan.terms[tensor], letter);
    };
    auto stride = [&](RaggedPlan::Tensor tensor) {
      return plan.strides[tensor][letter];
    };
    int64_t size = plan.sizes[letter], bounds = stride(RaggedPlan::Bounds);
    bool kept = has(RaggedPlan::Out);
    Loop<3> loop{size, {stride(a), stride(b), stride(RaggedPlan::Out)}};
    Loop<4> outer{size, {stride(a), stride(b), bounds, loop.strides[2]}};
    if (letter == plan.rowLetter || size == 1)
      continue;
    if (plan.isInBounds(letter) && !kept)
      roles.groups.push_back({size, {stride(a), stride(b), bounds}});
    else if (plan.isInBounds(letter) || (kept && has(a) && has(b)))
      roles.batch.push_back(outer);
    else if (kept)
      (has(a) ? roles.rows : roles.columns).push_back(loop);
    else if (has(a) && has(b))
      roles.terms.push_back(loop);
    else
      return std::nullopt;
  }
  return roles;
}

/// The longest loop, after neighbours have been merged; the others become
/// batches.
static Loop<3> takeLongest(Loops<3> loops, Loops<4> &batch) {
  loops = simplify(std::move(loops), /*leader=*/2);
  if (loops.empty())
    return {1, {0, 0, 0}};
  auto longest = std::max_element(
      loops.begin(), loops.end(),
      [](const Loop<3> &x, const Loop<3> &y) { return x.size < y.size; });
  Loop<3> taken = *longest;
  loops.erase(longest);
  for (const Loop<3> &loop : loops)
    batch.push_back(
        {loop.size, {loop.strides[0], loop.strides[1], 0, loop.strides[2]}});
  return taken;
}

/// By the loops along which the operands are dense.
static const char *kernelFor(ElementType type, const GroupedParameters &p) {
  if (type == ElementType::F32)
    return "shoal_grouped_float";
  if (type == ElementType::F64)
    return "shoal_grouped_double";
  bool aDenseK = p.aStrides[1] == 1, bDenseK = p.bStrides[1] != 1;
  if (type == ElementType::BF16)
    return aDenseK ? bDenseK ? "shoal_grouped_bf16_kk" : "shoal_grouped_bf16_kn"
           : bDenseK ? "shoal_grouped_bf16_mk"
                     : "shoal_grouped_bf16_mn";
  return aDenseK   ? bDenseK ? "shoal_grouped_f16_kk" : "shoal_grouped_f16_kn"
         : bDenseK ? "shoal_grouped_f16_mk"
                   : "shoal_grouped_f16_mn";
}

static int64_t countTiles(const GroupedParameters &p, ElementType type) {
  // As in Grouped.cu.
  bool isSmall = type == ElementType::BF16 || type == ElementType::F16;
  int64_t tile = isSmall ? 128 : 64;
  return p.batch.count * ((p.m + tile - 1) / tile) * ((p.n + tile - 1) / tile);
}

std::optional<GroupedProduct> planGrouped(const RaggedPlan &plan) {
  ElementType type = plan.part.types.in[0];
  int64_t rows = plan.rowLetter;
  bool kept = contains(plan.terms[RaggedPlan::Out], rows);
  bool in0 = contains(plan.terms[RaggedPlan::In0], rows);
  bool in1 = contains(plan.terms[RaggedPlan::In1], rows);
  if (!support::isFloat(type) || (kept ? in0 == in1 : !in0 || !in1))
    return std::nullopt;
  GroupedProduct product{{}, nullptr, kept && in1, 0};
  std::optional<Roles> roles = findRoles(plan, product.swaps);
  if (!roles)
    return std::nullopt;
  RaggedPlan::Tensor a = product.swaps ? RaggedPlan::In1 : RaggedPlan::In0;
  RaggedPlan::Tensor b = product.swaps ? RaggedPlan::In0 : RaggedPlan::In1;
  Loop<3> ragged{plan.sizes[rows],
                 {plan.strides[a][rows], plan.strides[b][rows],
                  plan.strides[RaggedPlan::Out][rows]}};
  Loops<3> terms = simplify(roles->terms, /*leader=*/0);
  if (terms.size() > (kept ? 1 : 0))
    return std::nullopt;
  Loop<3> row = ragged, term = ragged;
  if (kept) {
    term = terms.empty() ? Loop<3>{1, {0, 0, 0}} : terms[0];
    for (const Loop<3> &loop : roles->rows)
      roles->batch.push_back(
          {loop.size, {loop.strides[0], 0, 0, loop.strides[2]}});
  } else {
    row = takeLongest(roles->rows, roles->batch);
  }
  Loop<3> column = takeLongest(roles->columns, roles->batch);
  if (roles->batch.size() > maxNestLoops || roles->groups.size() > maxNestLoops)
    return std::nullopt;

  GroupedParameters &p = product.parameters;
  p.batch = nestOf(roles->batch);
  p.groups = nestOf(roles->groups);
  p.m = row.size;
  p.n = column.size;
  p.k = term.size;
  p.aStrides[0] = row.strides[0];
  p.aStrides[1] = term.strides[0];
  p.bStrides[0] = term.strides[1];
  p.bStrides[1] = column.strides[1];
  p.cStrides[0] = row.strides[2];
  p.cStrides[1] = column.strides[2];
  p.rowsAreTerms = kept ? 0 : 1;
  p.typeIn = static_cast<int32_t>(type);
  p.typeOut = static_cast<int32_t>(plan.part.types.out);
  p.boundType = static_cast<int32_t>(plan.boundType);
  product.kernel = kernelFor(type, p);
  product.blocks = blocksFor(countTiles(p, type), 1);
  return product;
}

} // namespace shoal::rt
