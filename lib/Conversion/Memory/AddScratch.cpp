// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The pass --shoal-add-scratch.

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "shoal/Conversion/Memory/Passes.h"
#include "shoal/CostModel/SourcePlace.h"
#include "shoal/Dialect/Rt/IR/Rt.h"
#include "shoal/Transforms/Debug/PassCounter.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "shoal-add-scratch"

using namespace mlir;

namespace shoal {
#define GEN_PASS_DEF_ADDSCRATCH
#include "shoal/Conversion/Memory/Passes.h.inc"
} // namespace shoal

using namespace shoal;

static PassCounter numCalls(DEBUG_TYPE, "Calls that got scratch");
static PassCounter numScratch(DEBUG_TYPE, "Buffers of scratch");

namespace {

/// Calls that never run at the same time, and what the largest of them needs.
struct Sharers {
  SmallVector<rt::RuntimeCallOpInterface> calls;
  int64_t bytes = 0;

  void add(rt::RuntimeCallOpInterface call, int64_t needed) {
    calls.push_back(call);
    bytes = std::max(bytes, needed);
  }

  void allocate(Operation *before) {
    if (calls.empty())
      return;
    OpBuilder builder(before);
    auto type = MemRefType::get({bytes}, builder.getI8Type());
    Value scratch =
        memref::AllocOp::create(builder, calls.front().getLoc(), type);
    ++numScratch;
    for (rt::RuntimeCallOpInterface call : calls)
      call.getScratchMutable().assign(scratch);
  }
};

struct AddScratch : shoal::impl::AddScratchBase<AddScratch> {
  using AddScratchBase::AddScratchBase;

  void runOnOperation() override {
    func::FuncOp func = getOperation();
    if (func.isExternal() || !func.isPublic())
      return;
    bool isDevice = machineOf(machine).isDevice;
    rt::ProgramMeshes meshes(func->getParentOfType<ModuleOp>());
    rt::CollectiveStreams streams(func);
    for (Operation &op : func.front()) {
      // Collectives of other streams may run beside each other.
      llvm::MapVector<int64_t, Sharers> collectives;
      Sharers others;
      op.walk([&](rt::RuntimeCallOpInterface call) {
        int64_t bytes = call.getScratchBytes(meshes, isDevice);
        if (bytes == 0 || !call.getScratchMutable().empty())
          return;
        LDBG() << call->getName() << " at " << sourcePlace(call.getLoc())
               << " needs " << bytes << " bytes";
        ++numCalls;
        if (isDevice)
          sharersOf(call, streams, collectives, others).add(call, bytes);
        else
          allocateFor(call, bytes);
      });
      for (auto &[stream, sharers] : collectives)
        sharers.allocate(&op);
      others.allocate(&op);
    }
  }

private:
  static Sharers &sharersOf(rt::RuntimeCallOpInterface call,
                            const rt::CollectiveStreams &streams,
                            llvm::MapVector<int64_t, Sharers> &collectives,
                            Sharers &others) {
    std::optional<int64_t> number = call.getCollectiveNumber();
    return number ? collectives[streams.of(*number)] : others;
  }

  /// Nothing runs beside a call on a CPU: its scratch ends with it.
  static void allocateFor(rt::RuntimeCallOpInterface call, int64_t bytes) {
    Sharers alone;
    alone.add(call, bytes);
    alone.allocate(call);
  }
};

} // namespace
