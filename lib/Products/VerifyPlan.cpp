// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Products/VerifyPlan.h"
#include "Walks.h"
#include "shoal/Products/OneDNN.h"

namespace shoal::products {

using support::Error;
using support::Status;

static constexpr const char *tensorNames[] = {"lhs", "rhs", "output"};

static Status stayIn(const Walks &walks, int64_t elements,
                     const std::string &what) {
  if (int64_t last = lastOf(walks); last >= elements)
    return Error{what + ": loops come to element " + std::to_string(last) +
                 " of " + std::to_string(elements)};
  return std::nullopt;
}

static Status runThrough(const Walks &walks, int64_t elements,
                         const std::string &what) {
  if (!covers(walks, elements))
    return Error{what + ": loops do not run through its " +
                 std::to_string(elements) + " elements once"};
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// A plan alone
//===----------------------------------------------------------------------===//

/// (P1)
template <size_t N>
static Status verifyLoops(const Loops<N> &loops, const char *what) {
  for (const Loop<N> &loop : loops) {
    if (loop.size < 1)
      return Error{std::string(what) +
                   ": expected loops of at least 1 step "
                   "but got " +
                   std::to_string(loop.size)};
    for (int64_t stride : loop.strides)
      if (stride < 0)
        return Error{std::string(what) +
                     ": expected strides of at least 0 "
                     "but got " +
                     std::to_string(stride)};
  }
  return std::nullopt;
}

/// (P1): there is no tensor `which`, or none that these loops walk.
static Status verifyStill(const Loops<3> &loops, size_t which,
                          const std::string &what) {
  for (const Loop<3> &loop : loops)
    if (loop.strides[which] != 0)
      return Error{what + ": expected no stride in " + tensorNames[which] +
                   " but got " + std::to_string(loop.strides[which])};
  return std::nullopt;
}

static Status verifyLoopProduct(const LoopProduct &product, const char *what) {
  if (Status fault = verifyLoops(product.outer, what))
    return fault;
  if (Status fault = verifyLoops(product.summed, what))
    return fault;
  return verifyStill(product.summed, 2, what);
}

static Status verifyPrepared(const LoopProduct &sum, const char *what) {
  if (Status fault = verifyLoopProduct(sum, what))
    return fault;
  for (const Loops<3> *loops : {&sum.outer, &sum.summed})
    if (Status fault = verifyStill(*loops, 1, what))
      return fault;
  return std::nullopt;
}

/// (P3)
static Status verifyMatrices(const GemmPlan &gemm) {
  struct {
    int64_t rows, columns;
    MatrixStrides strides;
  } matrices[] = {{gemm.m, gemm.k, gemm.a},
                  {gemm.k, gemm.n, gemm.b},
                  {gemm.m, gemm.n, gemm.c}};
  for (size_t i = 0; i < 3; ++i) {
    auto [rows, columns, strides] = matrices[i];
    if (rows < 1 || columns < 1 || strides.row < 0 || strides.column < 0 ||
        !isMatrix(rows, columns, strides))
      return Error{std::string(tensorNames[i]) + ": " + std::to_string(rows) +
                   " x " + std::to_string(columns) + " with strides " +
                   std::to_string(strides.row) + ", " +
                   std::to_string(strides.column) +
                   " is no matrix of a library"};
  }
  return std::nullopt;
}

/// What the products and the loops around them see of a tensor: all of it but
/// the batches, or its scratch.
static Walks productWalks(const GemmPlan &gemm, size_t which) {
  Walks walks;
  append(walks, gemm.outer, which);
  if (which == 0)
    walks.insert(walks.end(), {{gemm.m, gemm.a.row}, {gemm.k, gemm.a.column}});
  else if (which == 1)
    walks.insert(walks.end(), {{gemm.k, gemm.b.row}, {gemm.n, gemm.b.column}});
  else
    walks.insert(walks.end(), {{gemm.m, gemm.c.row}, {gemm.n, gemm.c.column}});
  if (which < 2)
    append(walks, gemm.summed, which);
  return walks;
}

/// (P4)
static Status verifyPacking(const GemmPlan &gemm, size_t which) {
  if (!gemm.packing[which])
    return std::nullopt;
  std::string what = std::string("scratch of ") + tensorNames[which];
  Walks scratch;
  append(scratch, *gemm.packing[which], 1);
  int64_t elements = countOf(scratch);
  if (Status fault = runThrough(scratch, elements, what))
    return fault;
  Walks product = productWalks(gemm, which);
  return which == 2 ? runThrough(product, elements, what)
                    : stayIn(product, elements, what);
}

static Status verifyGemm(const GemmPlan &gemm) {
  for (const Loops<3> *loops : {&gemm.batch, &gemm.outer, &gemm.summed})
    if (Status fault = verifyLoops(*loops, "gemm"))
      return fault;
  if (Status fault = verifyStill(gemm.summed, 2, "gemm"))
    return fault;
  if (Status fault = verifyMatrices(gemm))
    return fault;
  for (size_t i = 0; i < 3; ++i) {
    if (gemm.packing[i])
      if (Status fault = verifyLoops(*gemm.packing[i], "pack"))
        return fault;
    if (Status fault = verifyPacking(gemm, i))
      return fault;
  }
  return std::nullopt;
}

Status verifyPlan(const ProductPlan &plan) {
  if (plan.gemm && plan.loops)
    return Error{"expected gemm or loops but got both"};
  if (plan.isDevice && plan.gemm &&
      plan.gemm->library == ProductLibrary::OneDNN)
    return Error{"oneDNN is a library of CPUs"};
  if (isZero(plan) && (plan.converts || plan.prepared[0] || plan.prepared[1]))
    return Error{"expected gemm or loops behind what is prepared"};
  for (const std::optional<LoopProduct> &sum : plan.prepared)
    if (sum)
      if (Status fault = verifyPrepared(*sum, "prepare"))
        return fault;
  if (plan.gemm)
    return verifyGemm(*plan.gemm);
  return plan.loops ? verifyLoopProduct(*plan.loops, "loops") : std::nullopt;
}

//===----------------------------------------------------------------------===//
// A plan of an einsum
//===----------------------------------------------------------------------===//

/// (E3): a copy or a sum has no more elements than what it is made of.
static Status verifyCopy(const Walks &made, int64_t elements,
                         const std::string &what) {
  if (int64_t count = countOf(made); count > elements)
    return Error{what + ": makes " + std::to_string(count) + " elements of " +
                 std::to_string(elements)};
  return std::nullopt;
}

/// (E3): how often one tensor's elements are come to.
static Status verifyTensor(const ProductPlan &plan, size_t which,
                           int64_t elements) {
  Walks walks;
  if (plan.loops) {
    append(walks, plan.loops->outer, which);
    append(walks, which < 2 ? plan.loops->summed : Loops<3>(), which);
  } else {
    append(walks, plan.gemm->batch, which);
    if (const std::optional<Loops<2>> &copy = plan.gemm->packing[which]) {
      Walks made;
      append(made, *copy, 1);
      if (Status fault = verifyCopy(made, elements, tensorNames[which]))
        return fault;
      append(walks, *copy, 0);
    } else {
      Walks products = productWalks(*plan.gemm, which);
      walks.insert(walks.end(), products.begin(), products.end());
    }
  }
  return which == 2 ? runThrough(walks, elements, tensorNames[which])
                    : stayIn(walks, elements, tensorNames[which]);
}

/// (E3), and how many elements the products see.
static Status verifyOperand(const EinsumSpec &spec, const ProductPlan &plan,
                            size_t which) {
  int64_t elements = elementsOf(spec, spec.operands[which]);
  if (const std::optional<LoopProduct> &sum = plan.prepared[which]) {
    Walks read, made;
    append(read, sum->outer, 0);
    append(read, sum->summed, 0);
    append(made, sum->outer, 2);
    std::string what = std::string("prepare ") + tensorNames[which];
    if (Status fault = stayIn(read, elements, what))
      return fault;
    if (Status fault = verifyCopy(made, elements, what))
      return fault;
    elements = countOf(made);
    if (Status fault = runThrough(made, elements, what))
      return fault;
  }
  return verifyTensor(plan, which, elements);
}

/// (E4)
static Status verifyTerms(const EinsumSpec &spec, const ProductPlan &plan) {
  Walks planned, letters;
  for (const std::optional<LoopProduct> &sum : plan.prepared)
    if (sum)
      append(planned, sum->summed, 0);
  if (plan.gemm) {
    for (const Loops<3> *loops :
         {&plan.gemm->batch, &plan.gemm->outer, &plan.gemm->summed})
      append(planned, *loops, 0);
    for (int64_t size : {plan.gemm->m, plan.gemm->n, plan.gemm->k})
      planned.push_back({size, 0});
  } else {
    append(planned, plan.loops->outer, 0);
    append(planned, plan.loops->summed, 0);
  }
  for (int64_t size : spec.sizes)
    letters.push_back({size, 0});
  if (int64_t terms = countOf(planned), all = countOf(letters); terms != all)
    return Error{"expected " + std::to_string(all) +
                 " terms, the product of the letters' sizes, but got " +
                 std::to_string(terms)};
  return std::nullopt;
}

static std::string nameOf(ElementType type) {
  return std::string(support::elementTypeName(type));
}

/// (E5)
static Status verifyTypes(const ProductTypes &inside, const ProductPlan &plan) {
  auto [a, b] = preparedTypes(inside, plan);
  ElementType compute = computeType(inside);
  bool areFloat8 = support::isFloat8(a) && support::isFloat8(b);
  if (plan.loops || plan.isDevice)
    if (a != b && !(plan.gemm && areFloat8))
      return Error{"expected operands of one type behind what is prepared but "
                   "got " +
                   nameOf(a) + " and " + nameOf(b)};
  if (!plan.gemm)
    return std::nullopt;
  if (!support::isFloat(compute))
    return Error{"gemm: no library multiplies " + nameOf(compute)};
  bool isOneDNN = plan.gemm->library == ProductLibrary::OneDNN;
  if (isOneDNN && compute != ElementType::F32)
    return Error{"gemm: oneDNN does not multiply " + nameOf(compute)};
  bool takesNarrow =
      plan.isDevice || isNarrowProduct(plan.gemm->library, {a, b});
  const ElementType types[] = {a, b, inside.out};
  for (size_t i = 0; i < 3; ++i) {
    // Only sums that more is added to must not be rounded.
    bool mayStay = takesNarrow && (i < 2 || plan.gemm->summed.empty());
    if (!mayStay && types[i] != compute && !plan.gemm->packing[i])
      return Error{std::string(tensorNames[i]) + ": expected " +
                   nameOf(types[i]) + " to be packed as " + nameOf(compute)};
  }
  return std::nullopt;
}

Status verifyPlan(const EinsumSpec &spec, const ProductPlan &plan) {
  bool isEmpty = contains(spec.sizes, 0);
  if (isEmpty != isZero(plan)) // (E1)
    return Error{isEmpty ? "expected zero where a letter has size 0"
                         : "expected gemm or loops where no letter has size 0"};
  if (isEmpty)
    return std::nullopt;
  if (plan.converts != mustConvert(spec.types)) // (E2)
    return Error{std::string("expected whole tensors ") +
                 (plan.converts ? "not " : "") + "to be converted from " +
                 nameOf(spec.types.in[0]) + " to " + nameOf(spec.types.out)};
  for (size_t i = 0; i < 2; ++i)
    if (Status fault = verifyOperand(spec, plan, i))
      return fault;
  if (Status fault = verifyTensor(plan, 2, elementsOf(spec, spec.result)))
    return fault;
  if (Status fault = verifyTerms(spec, plan))
    return fault;
  return verifyTypes(typesInside(spec.types, plan), plan);
}

} // namespace shoal::products
