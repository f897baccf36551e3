// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SHOAL_SHARDING_RESHARDPRICES_H
#define SHOAL_SHARDING_RESHARDPRICES_H

#include "llvm/ADT/StringMap.h"
#include <memory>
#include <mutex>

namespace shoal {

struct AssignmentProblem;
namespace assignment {
struct ReshardTable;
} // namespace assignment

/// What searches worked out of reshards, for those that follow, whose problems
/// may be others: most of a search's time is in the plans of reshards. Its
/// answers are the same. All searches price on one cluster, or all in bytes.
/// Those over different meshes may run at once.
class ReshardPrices {
public:
  ReshardPrices();
  ~ReshardPrices();

  /// Of the problem's mesh and device orders.
  assignment::ReshardTable &over(const AssignmentProblem &problem);

private:
  std::mutex mutex;
  llvm::StringMap<std::unique_ptr<assignment::ReshardTable>> tables;
};

} // namespace shoal

#endif // SHOAL_SHARDING_RESHARDPRICES_H
