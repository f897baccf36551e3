// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What every pass knows of an op: how the dimensions of its operands and
// results relate.

#ifndef SHOAL_SHARDING_FACTORRULE_H
#define SHOAL_SHARDING_FACTORRULE_H

#include "shoal/Sharding/ReduceKind.h"
#include "shoal/Sharding/RowMap.h"
#include "shoal/Sharding/Sharding.h"
#include <optional>

namespace shoal {

/// What splitting a factor means.
enum class FactorKind {
  /// Each device computes its part of the result from its part of the
  /// operands.
  Parallel,
  /// The factor stands in operands only; each device computes an addend (or
  /// the like, see Factor::reduction) of the whole result.
  Reduction,
  /// The op needs the factor whole on every device.
  Replicated,
};

struct Factor {
  int64_t size = 1;
  FactorKind kind = FactorKind::Parallel;
  /// How partial results combine, for a Reduction. Only sums may stay partial;
  /// others are reduced right behind the op. Without one the op combines them
  /// in a way of its own.
  std::optional<ReduceKind> reduction;
  /// Whether its rows must divide evenly: a reshape that merges or splits
  /// dimensions cannot have blocks of ceil(n / p) rows on both sides otherwise.
  bool needsEvenSplit = false;
};

/// The factors of each dimension of a tensor, major to minor. A dimension
/// without factors is never split.
using DimFactors = llvm::SmallVector<llvm::SmallVector<unsigned, 1>, 4>;

/// An op's rule, an einsum of factors. `"GSM,ME->GSE"` has the factors G, S,
/// M, E; operand 0 has dimensions [G] [S] [M]; M is a Reduction. The reshape
/// of 12 to 3 x 4 has the factors a = 3, b = 4; its operand's only dimension is
/// [a, b], the result's are [a] and [b].
///
/// A dimension may be split over the axes of its factors, in their order; a
/// factor behind the first may be split only where all before it are split
/// down to size one.
///
/// A dimension may have another size than its factor, where it has that factor
/// alone: both are split over the same axes, each into blocks of its own
/// ceil(n / p). A window says which rows of such an operand the op reads.
struct FactorRule {
  /// The rows of dimension `dim` of an operand that each row of the factor in
  /// it reads. Devices fetch from each other what their blocks lack.
  struct Window {
    unsigned operand, dim;
    RowMap map;
    /// Rows of the dimension that is split into the factor's blocks.
    int64_t size;
    /// `map` counts a row of that dimension as `unit` rows, one of the
    /// operand's as `operandUnit`: a reshape counts elements.
    int64_t unit = 1, operandUnit = 1;
    bool operator==(const Window &) const = default;
  };
  /// Where the factor is split, the devices of its group bring together one
  /// slab of the result each: its block without the dimensions of gathered
  /// factors. The totals of a scan are one. See SlabExchange.h.
  struct Gather {
    unsigned factor, result;
    bool operator==(const Gather &) const = default;
  };

  llvm::SmallVector<Factor, 6> factors;
  llvm::SmallVector<DimFactors, 2> operands;
  llvm::SmallVector<DimFactors, 1> results;
  /// Sets of operands in which the op is linear: where exactly these are
  /// partial sums over an axis that splits nothing of the op, all results are
  /// partial sums over it. Empty for a nonlinear op.
  llvm::SmallVector<llvm::SmallVector<unsigned, 2>, 2> linearIn;
  /// What the op's local form sends by itself.
  llvm::SmallVector<Window, 0> windows;
  llvm::SmallVector<Gather, 0> gathers;
  /// Of an op whose result is an operand with another one's elements put in:
  /// that one, which is all that it writes.
  std::optional<unsigned> written;
  /// What the user should know of it: that something is kept whole which need
  /// not be. Mostly empty.
  std::string warning;
  /// Floating-point operations of the whole op, for the cost model.
  double flops = 0;

  /// Whether the op sums over nothing and needs nothing whole.
  bool isParallel() const;
};

/// How an op is split: the axes of each factor, and for each axis that is
/// passed through as partial the set of FactorRule::linearIn that carries it.
struct FactorSharding {
  llvm::SmallVector<AxisList, 6> axes;
  struct Pass {
    AxisId axis;
    unsigned set;
    bool operator==(const Pass &) const = default;
  };
  llvm::SmallVector<Pass, 1> passes;

  bool operator==(const FactorSharding &) const = default;
};

/// The shardings that an op split by `choice` needs and makes.
struct OpShardings {
  llvm::SmallVector<Sharding, 2> operands;
  /// As produced: partial over the axes of Reduction factors of kind sum and of
  /// passes; other reductions are already done.
  llvm::SmallVector<Sharding, 1> results;
};

/// The shardings of an op split by `choice`; nothing where the rule does not
/// allow the choice: a Replicated factor split, a minor factor split before its
/// major one, more shards than rows of a factor that shares a dimension with
/// others, an uneven split where the rule needs even ones, an axis used twice.
std::optional<OpShardings> applyChoice(const FactorRule &rule,
                                       const FactorSharding &choice,
                                       const Mesh &mesh);

/// Types of values, for prices.
struct TensorSize {
  llvm::ArrayRef<int64_t> shape;
  int64_t elementBytes;
};

/// Bytes that the busiest device sends inside the op split by `choice`, whose
/// operands and results have these sizes: for windows and gathers, and for
/// reductions that are not sums (2 (p - 1) / p of the result).
double exchangedBytes(const FactorRule &rule, const FactorSharding &choice,
                      llvm::ArrayRef<TensorSize> operands,
                      llvm::ArrayRef<TensorSize> results, const Mesh &mesh);

/// The choice that these operand and result shardings show; the inverse of
/// applyChoice. Nothing where no choice makes them.
std::optional<FactorSharding> findChoice(const FactorRule &rule,
                                         const OpShardings &shardings,
                                         const Mesh &mesh);

/// Builds rules by dimension, for ops whose every dimension has one factor.
class FactorRuleBuilder {
public:
  FactorRuleBuilder(llvm::ArrayRef<int64_t> operandRanks,
                    llvm::ArrayRef<int64_t> resultRanks);

  /// A factor of `size`; -1 in `operandDims` or `resultDims` where the factor
  /// is not in that operand or result.
  FactorRuleBuilder &addFactor(int64_t size,
                               llvm::ArrayRef<int64_t> operandDims,
                               llvm::ArrayRef<int64_t> resultDims,
                               FactorKind kind = FactorKind::Parallel,
                               std::optional<ReduceKind> reduction = {});
  FactorRuleBuilder &linearIn(llvm::ArrayRef<unsigned> operands);
  /// `map` relates the rows of operand dimension `dim` to those of its only
  /// factor.
  FactorRuleBuilder &window(unsigned operand, unsigned dim, RowMap map);
  FactorRuleBuilder &gather(unsigned factor, unsigned result);
  FactorRuleBuilder &writes(unsigned operand);
  FactorRuleBuilder &flops(double flops);
  FactorRule build() const { return rule; }

  /// All operands and results have `shape`; dimension d is factor d.
  static FactorRule elementwise(llvm::ArrayRef<int64_t> shape,
                                unsigned numOperands, unsigned numResults = 1);

private:
  FactorRule rule;
};

} // namespace shoal

#endif // SHOAL_SHARDING_FACTORRULE_H
