// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Products/GemmPlan.h"

#include <limits>

namespace shoal::products {

static constexpr Loop<3> unit = {1, {0, 0, 0}};

/// As a price needs it: larger than an integer may be.
static double countOf(const Loops<3> &loops) {
  double count = 1;
  for (const Loop<3> &loop : loops)
    count *= static_cast<double>(loop.size);
  return count;
}

double loopSeconds(const Contraction &contraction, const ProductModel &model) {
  return countOf(contraction.batch) * countOf(contraction.rows) *
             countOf(contraction.columns) * countOf(contraction.summed) /
             model.loopTermsPerSecond +
         model.secondsPerLoopCall;
}

static void sortBy(Loops<3> &loops, size_t operand) {
  std::sort(loops.begin(), loops.end(),
            [&](const Loop<3> &a, const Loop<3> &b) {
              return a.strides[operand] > b.strides[operand];
            });
}

/// Gives an operand dense strides over the loops, the last the fastest, and
/// says how to copy it there.
static Loops<2> pack(size_t operand, Loops<3> &major, Loops<3> &minor) {
  Loops<2> copy;
  int64_t elements = 1;
  for (Loops<3> *loops : {&minor, &major})
    for (size_t l = loops->size(); l-- > 0;) {
      Loop<3> &loop = (*loops)[l];
      copy.push_back({loop.size, {loop.strides[operand], elements}});
      loop.strides[operand] = elements;
      elements *= loop.size;
    }
  return copy;
}

namespace {
/// The loops of one batch index once packing is decided.
struct Packed {
  Loops<3> rows;
  Loops<3> columns;
  Loops<3> summed;
  std::array<std::optional<Loops<2>>, 3> packing;
};

/// One loop of each role, by index; the size where there is none.
struct Choice {
  size_t row;
  size_t column;
  size_t sum;
};
} // namespace

static bool isDenseAlong(const Loops<3> &loops, size_t operand) {
  for (const Loop<3> &loop : loops)
    if (loop.strides[operand] == 1)
      return true;
  return false;
}

/// Whether to pack operand 0 with its rows dense, as they are, and its terms
/// outermost, as those of operand 1: threads can share the terms then
/// (GemmPieces.h). Of a result stored by rows they share these, and rows of the
/// operand had better be dense as well.
static bool packsTermsOutermost(const Contraction &contraction,
                                const std::array<bool, 3> &packs) {
  return packs[0] && !packs[2] && isDenseAlong(contraction.rows, 0) &&
         isDenseAlong(contraction.rows, 2) &&
         (packs[1] || isDenseAlong(contraction.columns, 1));
}

/// Whether to pack the result by columns, as its rows are dense in the tensor
/// and the terms in operand 1: threads can share the columns then.
static bool packsResultByColumns(const Contraction &contraction,
                                 const std::array<bool, 3> &packs) {
  return packs[2] && !packs[1] && isDenseAlong(contraction.rows, 2) &&
         isDenseAlong(contraction.summed, 1);
}

static Packed applyPacking(const Contraction &contraction,
                           const std::array<bool, 3> &packs,
                           const ProductModel &model) {
  Packed result{contraction.rows, contraction.columns, contraction.summed, {}};
  // A scratch takes the order of whoever is not packed.
  sortBy(result.rows, packs[2] ? 0 : 2);
  sortBy(result.columns, packs[2] ? 1 : 2);
  sortBy(result.summed, packs[0] ? 1 : 0);
  if (!model.isDevice && packsTermsOutermost(contraction, packs))
    result.packing[0] = pack(0, result.summed, result.rows);
  else if (packs[0])
    result.packing[0] = pack(0, result.rows, result.summed);
  if (packs[1])
    result.packing[1] = pack(1, result.summed, result.columns);
  if (!model.isDevice && packsResultByColumns(contraction, packs))
    result.packing[2] = pack(2, result.columns, result.rows);
  else if (packs[2])
    result.packing[2] = pack(2, result.rows, result.columns);
  result.rows = simplify(std::move(result.rows), /*leader=*/2);
  result.columns = simplify(std::move(result.columns), /*leader=*/2);
  result.summed = simplify(std::move(result.summed), /*leader=*/0);
  return result;
}

bool isMatrix(int64_t rows, int64_t columns, MatrixStrides strides) {
  auto fits = [](int64_t denseSize, int64_t dense, int64_t leading) {
    return (dense == 1 || denseSize == 1) && leading >= denseSize;
  };
  constexpr int64_t limit = std::numeric_limits<int>::max();
  if (rows > limit || columns > limit || strides.row > limit ||
      strides.column > limit)
    return false;
  return fits(columns, strides.column, rows == 1 ? columns : strides.row) ||
         fits(rows, strides.row, columns == 1 ? rows : strides.column);
}

static const Loop<3> &pick(const Loops<3> &loops, size_t index) {
  return index < loops.size() ? loops[index] : unit;
}

static void appendOthers(Loops<3> &target, const Loops<3> &loops,
                         size_t chosen) {
  for (size_t l = 0; l < loops.size(); ++l)
    if (l != chosen)
      target.push_back(loops[l]);
}

/// The plan for these loops, without batches and price; none if BLAS cannot
/// take it.
static std::optional<GemmPlan> build(const Packed &packed, Choice choice) {
  const Loop<3> &row = pick(packed.rows, choice.row);
  const Loop<3> &column = pick(packed.columns, choice.column);
  const Loop<3> &sum = pick(packed.summed, choice.sum);
  GemmPlan plan;
  plan.m = row.size;
  plan.n = column.size;
  plan.k = sum.size;
  plan.a = {row.strides[0], sum.strides[0]};
  plan.b = {sum.strides[1], column.strides[1]};
  plan.c = {row.strides[2], column.strides[2]};
  if (!isMatrix(plan.m, plan.k, plan.a) || !isMatrix(plan.k, plan.n, plan.b) ||
      !isMatrix(plan.m, plan.n, plan.c))
    return std::nullopt;
  plan.packing = packed.packing;
  appendOthers(plan.outer, packed.rows, choice.row);
  appendOthers(plan.outer, packed.columns, choice.column);
  appendOthers(plan.summed, packed.summed, choice.sum);
  return plan;
}

static double price(const GemmPlan &plan, double batches, int64_t elementBytes,
                    const ProductModel &model) {
  auto m = static_cast<double>(plan.m), n = static_cast<double>(plan.n),
       k = static_cast<double>(plan.k),
       bytes = static_cast<double>(elementBytes);
  // BLAS itself reads and packs its operands and updates the result.
  double flops = 2 * m * n * k / model.flopsPerSecond;
  double traffic = (m * k + k * n + 2 * m * n) * bytes / model.bytesPerSecond;
  double terms = countOf(plan.summed);
  double products = batches * countOf(plan.outer) * terms;
  bool packs = plan.packing[0] || plan.packing[1] || plan.packing[2];
  bool callsOnce = model.isDevice || (model.takesBatches && !packs);
  double calls = callsOnce            ? terms
                 : model.takesBatches ? batches * terms
                                      : products;
  double packingCalls = model.isDevice ? 1 : batches;
  double seconds = products * (flops + traffic) + calls * model.secondsPerCall;
  for (const std::optional<Loops<2>> &copy : plan.packing)
    if (copy)
      seconds += batches * 2 * static_cast<double>(iterations(*copy)) * bytes /
                     model.bytesPerSecond +
                 packingCalls * model.secondsPerCall;
  return seconds;
}

std::optional<PricedGemm> planGemm(const Contraction &contraction,
                                   const std::array<bool, 3> &mustPack,
                                   int64_t elementBytes,
                                   const ProductModel &model,
                                   const GemmFilter &filter) {
  std::optional<PricedGemm> best;
  Loops<3> batch = simplify(contraction.batch, /*leader=*/2);
  double batches = countOf(contraction.batch);
  auto consider = [&](const Packed &packed, Choice choice) {
    std::optional<GemmPlan> plan = build(packed, choice);
    if (!plan)
      return;
    plan->batch = batch;
    if (filter && !filter(*plan))
      return;
    double seconds = price(*plan, batches, elementBytes, model);
    if (!best || seconds < best->seconds)
      best = {std::move(*plan), seconds};
  };
  for (unsigned mask = 0; mask < 8; ++mask) {
    std::array<bool, 3> packs = {(mask & 1) != 0, (mask & 2) != 0,
                                 (mask & 4) != 0};
    if ((mustPack[0] && !packs[0]) || (mustPack[1] && !packs[1]) ||
        (mustPack[2] && !packs[2]))
      continue;
    Packed packed = applyPacking(contraction, packs, model);
    // Without rows (columns, sums) the only choice is none.
    auto choices = [](const Loops<3> &loops) {
      return std::max<size_t>(loops.size(), 1);
    };
    for (size_t r = 0; r < choices(packed.rows); ++r)
      for (size_t c = 0; c < choices(packed.columns); ++c)
        for (size_t s = 0; s < choices(packed.summed); ++s)
          consider(packed, {r, c, s});
  }
  return best;
}

} // namespace shoal::products
