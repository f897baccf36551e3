// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/SymbolTable.h"
#include "shoal/Transforms/Import/Passes.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/DebugLog.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

namespace shoal {
#define GEN_PASS_DEF_VERIFYPROGRAM
#include "shoal/Transforms/Import/Passes.h.inc"
} // namespace shoal

#define DEBUG_TYPE "shoal-verify-program"

using namespace mlir;
using namespace shoal;

namespace {

/// Counts the ops of functions whose calls are inlined, without inlining them.
class CallSizes {
public:
  CallSizes(ModuleOp module, uint64_t maxOps)
      : symbols(module), maxOps(maxOps) {}

  /// Fails with a message where a call has no end, or `function` comes to more
  /// ops than allowed.
  LogicalResult visit(func::FuncOp function);

private:
  LogicalResult addCalls(func::FuncOp function, uint64_t &size);
  LogicalResult refuseRecursion(func::CallOp call, func::FuncOp callee) const;
  LogicalResult refuseSize(func::CallOp call, uint64_t count) const;

  SymbolTable symbols;
  uint64_t maxOps;
  llvm::DenseMap<Operation *, uint64_t> sizes;
  /// Functions that are being visited, each with its call of the next.
  llvm::MapVector<Operation *, func::CallOp> open;
};

} // namespace

LogicalResult CallSizes::refuseRecursion(func::CallOp call,
                                         func::FuncOp callee) const {
  InFlightDiagnostic error = call.emitOpError()
                             << "makes @" << callee.getName()
                             << " call itself: calls are inlined, and this has "
                                "no end";
  const auto *entry = open.find(callee);
  for (const auto &[function, next] : llvm::make_range(entry, open.end()))
    if (next != call)
      error.attachNote(next->getLoc()) << "by way of this call";
  return error;
}

LogicalResult CallSizes::refuseSize(func::CallOp call, uint64_t count) const {
  auto error =
      call.emitOpError()
      << "is inlined, as all calls are, and then its function has more than "
      << llvm::formatv("{0:N}", maxOps).str() << " ops";
  auto callee = symbols.lookup<func::FuncOp>(call.getCallee());
  error.attachNote(callee.getLoc())
      << "each call of @" << callee.getName() << " adds "
      << llvm::formatv("{0:N}", count).str() << (count == 1 ? " op" : " ops");
  return error;
}

LogicalResult CallSizes::addCalls(func::FuncOp function, uint64_t &size) {
  SmallVector<func::CallOp> calls;
  function.walk([&](func::CallOp call) { calls.push_back(call); });
  for (func::CallOp call : calls) {
    auto callee = symbols.lookup<func::FuncOp>(call.getCallee());
    if (!callee || callee.isDeclaration())
      continue;
    open[function] = call;
    if (open.contains(callee))
      return refuseRecursion(call, callee);
    if (failed(visit(callee)))
      return failure();
    size = llvm::SaturatingAdd(size, sizes.lookup(callee));
    if (size > maxOps)
      return refuseSize(call, sizes.lookup(callee));
  }
  return success();
}

LogicalResult CallSizes::visit(func::FuncOp function) {
  if (sizes.contains(function))
    return success();
  open.insert({function, nullptr});
  uint64_t size = 0;
  function.getBody().walk([&](Operation *) { ++size; });
  if (failed(addCalls(function, size)))
    return failure();
  LDBG() << "@" << function.getName() << " has " << size
         << " ops once its calls are inlined";
  open.erase(function);
  sizes[function] = size;
  return success();
}

/// A module's body has no order, so that a value may be made from itself there,
/// of which passes over functions know nothing, and no function can use it.
static LogicalResult verifyTopLevel(ModuleOp module) {
  for (Operation &op : *module.getBody())
    if (!isa<SymbolOpInterface>(op) || isa<ModuleOp>(op))
      return op.emitOpError("is outside of all functions: a program is one "
                            "module of functions and meshes");
  return success();
}

namespace {

struct VerifyProgram : shoal::impl::VerifyProgramBase<VerifyProgram> {
  using VerifyProgramBase::VerifyProgramBase;

  void runOnOperation() override {
    markAllAnalysesPreserved();
    if (failed(verifyTopLevel(getOperation())))
      return signalPassFailure();
    CallSizes sizes(getOperation(), maxOps);
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (failed(sizes.visit(function)))
        return signalPassFailure();
  }
};

} // namespace
