// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Everything a tool of Shoal registers.

#ifndef SHOAL_INITSHOAL_H
#define SHOAL_INITSHOAL_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/Extensions/InlinerExtension.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "shoal/Dialect/Shoal/FactorRules/FactorRules.h"
#include "shoal/Dialect/Spmd/IR/Spmd.h"
#include "shoal/Transforms/Autodiff/Passes.h"
#include "shoal/Transforms/Collectives/Passes.h"
#include "shoal/Transforms/Import/Passes.h"
#include "shoal/Transforms/Partition/Passes.h"
#include "shoal/Transforms/Pipelines.h"
#include "shoal/Transforms/Propagation/Passes.h"
#include "shoal/Transforms/Rematerialize/Passes.h"
#include "shoal/Transforms/Sparse/Passes.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdlib>

namespace shoal {

/// The dialects of Shoal's programs, and what passes know of their ops.
inline void registerShoalDialects(mlir::DialectRegistry &registry) {
  registry.insert<ShoalDialect, spmd::SpmdDialect, mlir::arith::ArithDialect,
                  mlir::func::FuncDialect, mlir::math::MathDialect,
                  mlir::tensor::TensorDialect>();
  mlir::func::registerInlinerExtension(registry);
  registerFactorRuleModels(registry);
  registerDerivativeRules(registry);
  registerLocalizeModels(registry);
  registerElementModels(registry);
}

inline void registerShoalPasses() {
  registerAutodiffPasses();
  registerImportPasses();
  registerShoalPropagationPasses();
  registerShoalPartitionPasses();
  registerShoalSparsePasses();
  registerShoalCollectivesPasses();
  registerShoalRematerializePasses();
  registerShoalPipelines();
}

/// What LLVM gives up on, as a list that grows past four billion entries, and
/// memory that is not there end the tool with one line.
inline void reportFatalErrors() {
  auto end = [](void *, const char *reason, bool) {
    llvm::errs() << "error: LLVM gives up: " << reason << '\n';
    std::_Exit(1);
  };
  llvm::install_fatal_error_handler(end);
  llvm::install_bad_alloc_error_handler(end);
}

} // namespace shoal

#endif // SHOAL_INITSHOAL_H
