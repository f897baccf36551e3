// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The pass --shoal-map-kernels.

#include "KernelEmitter.h"
#include "KernelLaunch.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "shoal/Conversion/Kernels/Passes.h"
#include "shoal/CostModel/ScalarOperations.h"
#include "shoal/CostModel/SourcePlace.h"
#include "shoal/Dialect/Rt/IR/Rt.h"
#include "shoal/Transforms/Debug/PassCounter.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "shoal-map-kernels"

using namespace mlir;

namespace shoal {
#define GEN_PASS_DEF_MAPKERNELS
#include "shoal/Conversion/Kernels/Passes.h.inc"
} // namespace shoal

using namespace shoal;

static PassCounter numLaunches(DEBUG_TYPE, "Launches of kernels");
static PassCounter numMapped(DEBUG_TYPE, "Different kernels");

//===----------------------------------------------------------------------===//
// An outlined function
//===----------------------------------------------------------------------===//

using LinalgOps = SmallVector<linalg::LinalgOp>;

/// The ops of an outlined function; none of another one.
static LinalgOps findLinalgOps(func::FuncOp func) {
  if (!func.isPrivate() || func.isExternal() || !func.getBody().hasOneBlock())
    return {};
  return llvm::to_vector(func.getBody().front().getOps<linalg::LinalgOp>());
}

/// Everything beside the ops is a constant that they use, or a buffer without
/// memory.
static LogicalResult verifyOutlined(func::FuncOp func, linalg::LinalgOp first) {
  for (BlockArgument argument : func.getArguments())
    if (!isa<MemRefType>(argument.getType()))
      return first.emitError() << "kernel argument " << argument.getArgNumber()
                               << " is no buffer but " << argument.getType();
  for (Operation &op : func.getBody().front().without_terminator())
    if (!isa<linalg::LinalgOp, memref::AllocaOp>(op) &&
        !op.hasTrait<OpTrait::ConstantLike>())
      return op.emitError("expected a constant or a linalg op in a kernel");
  return success();
}

static FailureOr<linalg::GenericOp> generalize(linalg::LinalgOp op) {
  if (auto generic = dyn_cast<linalg::GenericOp>(op.getOperation()))
    return generic;
  IRRewriter rewriter(op);
  FailureOr<linalg::GenericOp> generic =
      linalg::generalizeNamedOp(rewriter, op);
  if (failed(generic))
    return op.emitError("cannot make a kernel of this op");
  return generic;
}

//===----------------------------------------------------------------------===//
// Equal kernels
//===----------------------------------------------------------------------===//

static SmallVector<NamedAttribute>
attributesWithoutName(gpu::GPUFuncOp kernel) {
  SmallVector<NamedAttribute> attributes(kernel->getAttrs());
  llvm::erase_if(attributes, [](NamedAttribute attribute) {
    return attribute.getName() == SymbolTable::getSymbolAttrName();
  });
  return attributes;
}

/// The same of kernels that differ in their names and places alone.
static unsigned hashWithoutName(gpu::GPUFuncOp kernel) {
  llvm::hash_code hash = mlir::hash_value(kernel.getFunctionType());
  kernel.getBody().walk([&](Operation *op) {
    hash = llvm::hash_combine(hash, op->getName(), op->getAttrDictionary());
  });
  return unsigned(size_t(hash)) >> 1; // none of DenseMap's own keys
}

static bool areEqualWithoutNames(gpu::GPUFuncOp one, gpu::GPUFuncOp other) {
  return attributesWithoutName(one) == attributesWithoutName(other) &&
         OperationEquivalence::isRegionEquivalentTo(
             &one.getBody(), &other.getBody(),
             OperationEquivalence::IgnoreLocations);
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

static void replaceCall(func::CallOp call, const KernelLaunch &launch) {
  OpBuilder builder(call);
  SmallVector<Value> inputs, outputs;
  SmallVector<Attribute> touches;
  for (const KernelBuffer &buffer : launch.buffers) {
    (buffer.isWritten ? outputs : inputs)
        .push_back(call.getOperand(buffer.argument));
    touches.push_back(buffer.describe(call.getContext()));
  }
  const KernelSchedule &schedule = launch.schedule;
  if (launch.kernel)
    rt::LaunchOp::create(builder, call.getLoc(), TypeRange(), inputs, outputs,
                         *launch.kernel, ArrayRef<int64_t>{schedule.grid, 1, 1},
                         ArrayRef<int64_t>{schedule.blockX, schedule.blockY, 1},
                         /*shared_bytes=*/0, builder.getArrayAttr(touches),
                         llvm::APFloat(launch.operations));
  call.erase();
}

namespace {

struct MapKernels : shoal::impl::MapKernelsBase<MapKernels> {
  using MapKernelsBase::MapKernelsBase;

  void runOnOperation() override {
    llvm::MapVector<func::FuncOp, LinalgOps> functions;
    for (auto func : getOperation().getOps<func::FuncOp>())
      if (LinalgOps ops = findLinalgOps(func); !ops.empty())
        functions.insert({func, ops});
    if (functions.empty())
      return;
    OpBuilder builder = OpBuilder::atBlockEnd(getOperation().getBody());
    kernels = gpu::GPUModuleOp::create(builder, getOperation().getLoc(),
                                       "shoal_kernels");
    llvm::StringMap<KernelLaunch> launches;
    for (auto &[func, ops] : functions) {
      FailureOr<KernelLaunch> launch = map(func, ops);
      if (failed(launch))
        return signalPassFailure();
      launches[func.getName()] = *launch;
    }
    getOperation().walk([&](func::CallOp call) {
      auto found = launches.find(call.getCallee());
      if (found != launches.end())
        replaceCall(call, found->second);
    });
    for (auto &[func, ops] : functions)
      func.erase();
  }

private:
  FailureOr<KernelLaunch> map(func::FuncOp func, LinalgOps &ops) {
    if (failed(verifyOutlined(func, ops.front())))
      return failure();
    double operations = 0;
    for (linalg::LinalgOp op : ops)
      operations += countScalarOperations(op);
    FailureOr<KernelLaunch> launch =
        ops.size() == 1 ? mapOp(func, ops.front()) : mapRows(func, ops);
    if (succeeded(launch))
      launch->operations = operations;
    return launch;
  }

  DeviceLimits getLimits() const {
    DeviceLimits limits = machineOf(machine).limits;
    if (maxBlocks > 0)
      limits.gridBlocks = maxBlocks;
    return limits;
  }

  FailureOr<KernelLaunch> mapOp(func::FuncOp func, linalg::LinalgOp op) {
    FailureOr<linalg::GenericOp> generic = generalize(op);
    if (failed(generic))
      return failure();
    FailureOr<LoopNest> nest = analyzeLoops(*generic);
    if (failed(nest))
      return failure();
    for (unsigned result = 0; result < generic->getNumDpsInits(); ++result)
      if (getInitial(*generic, result))
        nest->accesses[generic->getNumDpsInputs() + result].isRead = false;
    KernelLaunch launch;
    if (nest->isEmpty())
      return launch;
    launch.schedule = chooseSchedule(*nest, getLimits());
    launch.buffers = collectBuffers(*generic, *nest);
    OpBuilder builder = OpBuilder::atBlockEnd(kernels.getBody());
    gpu::GPUFuncOp kernel = createKernel(builder, func, launch);
    emitKernel(kernel, *generic, *nest, launch);
    launch.kernel = findOrKeep(kernel);
    return launch;
  }

  FailureOr<KernelLaunch> mapRows(func::FuncOp func,
                                  ArrayRef<linalg::LinalgOp> ops) {
    SmallVector<linalg::GenericOp> generics;
    for (linalg::LinalgOp op : ops) {
      FailureOr<linalg::GenericOp> generic = generalize(op);
      if (failed(generic))
        return failure();
      generics.push_back(*generic);
    }
    std::optional<RowGroup> group = analyzeRowGroup(generics, getLimits());
    if (!group)
      return generics[1].emitError(
          "expected the ops of a kernel to work on the same rows");
    KernelLaunch launch;
    launch.schedule = group->schedule;
    launch.buffers = collectBuffers(*group);
    OpBuilder builder = OpBuilder::atBlockEnd(kernels.getBody());
    gpu::GPUFuncOp kernel = createKernel(builder, func, launch);
    emitKernel(kernel, *group, launch);
    launch.kernel = findOrKeep(kernel);
    return launch;
  }

  /// The number of the kernel, or of an earlier one that is equal to it.
  int64_t findOrKeep(gpu::GPUFuncOp kernel) {
    SmallVector<KeptKernel, 1> &alike = kept[hashWithoutName(kernel)];
    auto *found = llvm::find_if(alike, [&](const KeptKernel &other) {
      return areEqualWithoutNames(kernel, other.kernel);
    });
    bool isNew = found == alike.end();
    if (isNew) {
      alike.push_back({kernel, numKept++});
      found = &alike.back();
    }
    LDBG() << kernel.getName() << " at " << sourcePlace(kernel.getLoc())
           << (isNew ? " is kernel " : " is as kernel ") << found->number;
    ++numLaunches;
    numMapped += isNew;
    if (!isNew)
      kernel.erase();
    return found->number;
  }

  struct KeptKernel {
    gpu::GPUFuncOp kernel;
    int64_t number;
  };

  gpu::GPUModuleOp kernels;
  int64_t numKept = 0;
  llvm::DenseMap<unsigned, SmallVector<KeptKernel, 1>> kept;
};

} // namespace
