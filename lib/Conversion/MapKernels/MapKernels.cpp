// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The pass --shoal-map-kernels.

#include "KernelEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "shoal/Conversion/Passes.h"
#include "shoal/Dialect/Rt/IR/Rt.h"

using namespace mlir;

namespace shoal {
#define GEN_PASS_DEF_MAPKERNELS
#include "shoal/Conversion/Passes.h.inc"
} // namespace shoal

using namespace shoal;

//===----------------------------------------------------------------------===//
// An outlined function
//===----------------------------------------------------------------------===//

namespace {

/// What a launch says of one argument of the outlined function.
struct Buffer {
  unsigned argument;
  int64_t elementBytes;
  ElementRange elements;
  bool isRead = false;
  bool isWritten = false;

  int64_t getAccess() const { return isRead + 2 * isWritten; }
};

/// A kernel, or the lack of one where there is nothing to do.
struct Launch {
  std::optional<int64_t> kernel;
  KernelSchedule schedule;
  /// Those that are only read come first.
  SmallVector<Buffer> buffers;
};

} // namespace

static linalg::LinalgOp findLinalgOp(func::FuncOp func) {
  if (!func.isPrivate() || func.isExternal() || !func.getBody().hasOneBlock())
    return nullptr;
  auto ops = func.getBody().front().getOps<linalg::LinalgOp>();
  return llvm::hasSingleElement(ops) ? *ops.begin() : nullptr;
}

/// Everything beside the op is a constant that it uses.
static LogicalResult verifyOutlined(func::FuncOp func, linalg::LinalgOp op) {
  for (BlockArgument argument : func.getArguments())
    if (!isa<MemRefType>(argument.getType()))
      return op.emitError() << "kernel argument " << argument.getArgNumber()
                            << " is no buffer but " << argument.getType();
  for (Operation &other : func.getBody().front().without_terminator())
    if (&other != op.getOperation() && !other.hasTrait<OpTrait::ConstantLike>())
      return other.emitError("expected a constant or a linalg op in a kernel");
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

static SmallVector<Buffer> collectBuffers(linalg::GenericOp op,
                                          const LoopNest &nest) {
  std::map<unsigned, Buffer> buffers;
  for (auto [operand, access] :
       llvm::zip_equal(op->getOperands(), nest.accesses)) {
    if (!access.isTouched())
      continue;
    unsigned argument = cast<BlockArgument>(operand).getArgNumber();
    ElementRange range = nest.getElementRange(access);
    Buffer &buffer =
        buffers
            .try_emplace(argument, Buffer{argument, access.elementBytes, range})
            .first->second;
    buffer.elements.first = std::min(buffer.elements.first, range.first);
    buffer.elements.last = std::max(buffer.elements.last, range.last);
    buffer.isRead |= access.isRead;
    buffer.isWritten |= access.isWritten;
  }
  SmallVector<Buffer> sorted;
  for (auto &[argument, buffer] : buffers)
    sorted.push_back(buffer);
  llvm::stable_sort(sorted, [](const Buffer &a, const Buffer &b) {
    return a.isWritten < b.isWritten;
  });
  return sorted;
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

/// A flat memref that ends with the last element touched.
static Type getParameterType(const Buffer &buffer, Type element) {
  return MemRefType::get({buffer.elements.last + 1}, getStorageType(element));
}

static gpu::GPUFuncOp createKernel(OpBuilder &builder, func::FuncOp func,
                                   const Launch &launch) {
  SmallVector<Type> types;
  for (const Buffer &buffer : launch.buffers)
    types.push_back(getParameterType(
        buffer, getElementTypeOrSelf(func.getArgument(buffer.argument))));
  auto kernel = gpu::GPUFuncOp::create(builder, func.getLoc(), func.getName(),
                                       builder.getFunctionType(types, {}));
  kernel->setAttr(gpu::GPUDialect::getKernelFuncAttrName(),
                  builder.getUnitAttr());
  kernel.setKnownBlockSize(
      SmallVector<int32_t>{static_cast<int32_t>(launch.schedule.blockX),
                           static_cast<int32_t>(launch.schedule.blockY), 1});
  kernel->setAttr("shoal.schedule",
                  builder.getStringAttr(launch.schedule.str()));
  for (auto [number, buffer] : llvm::enumerate(launch.buffers))
    for (StringRef name : {LLVM::LLVMDialect::getNoAliasAttrName(),
                           LLVM::LLVMDialect::getReadonlyAttrName()})
      if (Attribute attr = func.getArgAttr(buffer.argument, name))
        kernel.setArgAttr(number, name, attr);
  return kernel;
}

static void emitShape(KernelEmitter &emitter) {
  switch (emitter.schedule.shape) {
  case KernelShape::Map:
    return emitMap(emitter);
  case KernelShape::Transpose:
    return emitTranspose(emitter);
  case KernelShape::RowReduction:
    return emitRowReduction(emitter);
  case KernelShape::ColumnReduction:
    return emitColumnReduction(emitter);
  case KernelShape::SerialReduction:
    return emitSerialReduction(emitter);
  }
}

static void emitKernel(gpu::GPUFuncOp kernel, linalg::GenericOp op,
                       const LoopNest &nest, const Launch &launch) {
  OpBuilder builder = OpBuilder::atBlockBegin(&kernel.getBody().front());
  IRMapping mapping;
  auto func = op->getParentOfType<func::FuncOp>();
  for (Operation &constant : func.getBody().front().without_terminator())
    if (&constant != op.getOperation())
      builder.clone(constant, mapping);
  gpu::ReturnOp::create(builder, op.getLoc());
  KernelEmitter::Values buffers;
  for (Value operand : op->getOperands()) {
    auto found = llvm::find_if(launch.buffers, [&](const Buffer &buffer) {
      return operand == func.getArgument(buffer.argument);
    });
    buffers.push_back(found == launch.buffers.end()
                          ? Value()
                          : kernel.getArgument(found - launch.buffers.begin()));
  }
  KernelEmitter emitter(op, nest, launch.schedule, kernel, buffers, mapping);
  emitShape(emitter);
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

/// desc of shoal_rt_launch, see Runtime/ABI.h.
static SmallVector<int64_t> describe(const Launch &launch) {
  const KernelSchedule &schedule = launch.schedule;
  SmallVector<int64_t> desc = {*launch.kernel,
                               schedule.grid,
                               1,
                               1,
                               schedule.blockX,
                               schedule.blockY,
                               1,
                               /*dynamic shared bytes=*/0,
                               static_cast<int64_t>(launch.buffers.size())};
  for (const Buffer &buffer : launch.buffers) {
    int64_t elements = buffer.elements.last - buffer.elements.first + 1;
    desc.append({buffer.elements.first * buffer.elementBytes,
                 elements * buffer.elementBytes, buffer.getAccess()});
  }
  return desc;
}

static void replaceCall(func::CallOp call, const Launch &launch) {
  OpBuilder builder(call);
  SmallVector<Value> inputs, outputs;
  for (const Buffer &buffer : launch.buffers)
    (buffer.isWritten ? outputs : inputs)
        .push_back(call.getOperand(buffer.argument));
  if (launch.kernel)
    rt::CallOp::create(builder, call.getLoc(), TypeRange(), "launch",
                       describe(launch), inputs, outputs, /*in_place=*/false,
                       /*function=*/nullptr, /*collective=*/nullptr);
  call.erase();
}

namespace {

struct MapKernels : shoal::impl::MapKernelsBase<MapKernels> {
  using MapKernelsBase::MapKernelsBase;

  void runOnOperation() override {
    llvm::MapVector<func::FuncOp, linalg::LinalgOp> functions;
    for (auto func : getOperation().getOps<func::FuncOp>())
      if (linalg::LinalgOp op = findLinalgOp(func))
        functions.insert({func, op});
    if (functions.empty())
      return;
    OpBuilder builder = OpBuilder::atBlockEnd(getOperation().getBody());
    kernels = gpu::GPUModuleOp::create(builder, getOperation().getLoc(),
                                       "shoal_kernels");
    llvm::StringMap<Launch> launches;
    for (auto [func, op] : functions) {
      FailureOr<Launch> launch = map(func, op);
      if (failed(launch))
        return signalPassFailure();
      launches[func.getName()] = *launch;
    }
    getOperation().walk([&](func::CallOp call) {
      auto found = launches.find(call.getCallee());
      if (found != launches.end())
        replaceCall(call, found->second);
    });
    for (auto [func, op] : functions)
      func.erase();
  }

private:
  FailureOr<Launch> map(func::FuncOp func, linalg::LinalgOp op) {
    if (failed(verifyOutlined(func, op)))
      return failure();
    FailureOr<linalg::GenericOp> generic = generalize(op);
    if (failed(generic))
      return failure();
    FailureOr<LoopNest> nest = analyzeLoops(*generic);
    if (failed(nest))
      return failure();
    for (unsigned result = 0; result < generic->getNumDpsInits(); ++result)
      if (getInitial(*generic, result))
        nest->accesses[generic->getNumDpsInputs() + result].isRead = false;
    Launch launch;
    if (nest->isEmpty())
      return launch;
    launch.schedule = chooseSchedule(*nest, {maxBlocks});
    launch.buffers = collectBuffers(*generic, *nest);
    OpBuilder builder = OpBuilder::atBlockEnd(kernels.getBody());
    gpu::GPUFuncOp kernel = createKernel(builder, func, launch);
    emitKernel(kernel, *generic, *nest, launch);
    launch.kernel = findOrKeep(kernel);
    return launch;
  }

  /// The number of the kernel, or of an earlier one that is equal to it.
  int64_t findOrKeep(gpu::GPUFuncOp kernel) {
    StringAttr name = kernel.getNameAttr();
    std::string text;
    llvm::raw_string_ostream os(text);
    kernel.setName("kernel");
    kernel.print(os, OpPrintingFlags().useLocalScope());
    kernel.setName(name);
    auto [found, isNew] = numbers.try_emplace(text, numbers.size());
    if (!isNew)
      kernel.erase();
    return found->second;
  }

  gpu::GPUModuleOp kernels;
  /// By the text of a kernel without its name.
  llvm::StringMap<int64_t> numbers;
};

} // namespace
