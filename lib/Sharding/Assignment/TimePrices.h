// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SHOAL_LIB_SHARDING_ASSIGNMENT_TIMEPRICES_H
#define SHOAL_LIB_SHARDING_ASSIGNMENT_TIMEPRICES_H

#include "ReshardTable.h"
#include "shoal/Machine/StepTime.h"
#include "shoal/Sharding/Assignment.h"

namespace shoal::assignment {

/// A value that changes its sharding.
struct Resharded {
  llvm::ArrayRef<int64_t> shape;
  int64_t elementBytes;
  const Sharding &source, &target;
  /// In the source's device order, and in the target's; that is null where it
  /// is the same.
  const Mesh *mesh, *targetMesh = nullptr;
};

/// What things take on a cluster, in nanoseconds, each alone: the prices of
/// StepTime.h, of what the per-device program would consist of. Nothing runs
/// beside anything.
class TimePrices {
public:
  explicit TimePrices(const Cluster &cluster) : cluster(cluster) {}

  /// Of the steps of planReshard's plan. `known`: the plans of reshards that
  /// are alike, over this mesh.
  double reshard(const Resharded &value,
                 llvm::StringMap<SentSteps> &known) const;

  /// Of an op that multiplies and sums, split by `choice`; nothing of others.
  /// The product reads and writes `bytes`.
  std::optional<double> product(const AssignmentProblem::Op &op,
                                const FactorSharding &choice, const Mesh &mesh,
                                double bytes) const;

  /// Of what an op split by `choice` sends itself.
  double exchange(const FactorSharding &choice, const Mesh &mesh,
                  double bytes) const;

private:
  SentSteps planSteps(const Resharded &value) const;
  double priceSteps(const SentSteps &steps, double elementBytes) const;
  double priceGroup(CollectiveKind kind, const AxisList &axes, const Mesh &mesh,
                    double bytes) const;

  const Cluster &cluster;
};

} // namespace shoal::assignment

#endif // SHOAL_LIB_SHARDING_ASSIGNMENT_TIMEPRICES_H
