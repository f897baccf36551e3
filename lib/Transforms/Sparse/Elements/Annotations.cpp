// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Identities, which global programs have.

#include "../Terms.h"
#include "Models.h"
#include "shoal/Dialect/Shoal/IR/AnnotationsOps.h"

using namespace mlir;
using namespace shoal;
using namespace shoal::sparse;

// Models replace the interface's defaults.
// NOLINTBEGIN(bugprone-derived-method-shadowing-base-method)
namespace {

struct Constraint
    : ElementOpInterface::ExternalModel<Constraint, ShardingConstraintOp> {
  static std::optional<TermList> mapIndex(Operation *, Terms &,
                                          TermRange index) {
    return TermList(index);
  }
};

} // namespace
// NOLINTEND(bugprone-derived-method-shadowing-base-method)

void shoal::registerAnnotationsElementModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, ShoalDialect *) {
    ShardingConstraintOp::attachInterface<Constraint>(*context);
  });
}
