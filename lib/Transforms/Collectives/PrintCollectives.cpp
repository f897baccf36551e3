// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/CostModel/ProgramCost.h"
#include "shoal/Transforms/Collectives/Passes.h"

namespace shoal {
#define GEN_PASS_DEF_PRINTCOLLECTIVES
#include "shoal/Transforms/Collectives/Passes.h.inc"
} // namespace shoal

using namespace mlir;
using namespace shoal;

namespace {

void print(func::FuncOp function, raw_ostream &os) {
  os << '@' << function.getSymName() << '\n';
  int64_t bytes = 0;
  SmallVector<CollectiveCost> collectives = listCollectives(function);
  for (const CollectiveCost &collective : collectives) {
    bytes += collective.bytes * collective.runs;
    os << "  " << collective.kind << ' ' << collective.axes << " : "
       << collective.op->getOperand(0).getType() << " -> "
       << collective.op->getResult(0).getType() << "  " << collective.bytes
       << " bytes";
    if (collective.runs != 1)
      os << ", " << collective.runs << " times";
    if (!collective.reason.empty())
      os << ", for " << collective.reason;
    if (!collective.roles.empty())
      os << ", over " << collective.roles;
    if (!collective.layer.empty())
      os << ", in " << collective.layer;
    os << '\n';
  }
  os << "  in all " << bytes << " bytes in " << collectives.size()
     << " collectives\n";
}

struct PrintCollectives : shoal::impl::PrintCollectivesBase<PrintCollectives> {
  void runOnOperation() override {
    markAllAnalysesPreserved();
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (function->hasAttr(kSpmdAttr))
        print(function, llvm::errs());
  }
};

} // namespace
