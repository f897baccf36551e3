// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "KernelLaunch.h"
#include "../Device/CapturedLoads.h"
#include "EmitRows.h"
#include "KernelEmitter.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace shoal;

/// What the nest's accesses are to.
static SmallVector<Value> findAccessed(linalg::GenericOp op) {
  SmallVector<Value> values(op->getOperands());
  for (CapturedLoad &load : findCapturedLoads(op))
    values.push_back(load.op.getMemref());
  return values;
}

using Buffers = std::map<unsigned, KernelBuffer>;

/// Adds what is touched of an argument.
static KernelBuffer &add(Buffers &buffers, Value argument, const LoopNest &nest,
                         const Access &access) {
  unsigned number = cast<BlockArgument>(argument).getArgNumber();
  ElementRange range = nest.getElementRange(access);
  KernelBuffer &buffer =
      buffers
          .try_emplace(number, KernelBuffer{number, access.elementBytes, range})
          .first->second;
  buffer.elements.first = std::min(buffer.elements.first, range.first);
  buffer.elements.last = std::max(buffer.elements.last, range.last);
  return buffer;
}

static SmallVector<KernelBuffer> readOnlyFirst(const Buffers &buffers) {
  SmallVector<KernelBuffer> sorted;
  for (bool isWritten : {false, true})
    for (const auto &[argument, buffer] : buffers)
      if (buffer.isWritten == isWritten)
        sorted.push_back(buffer);
  return sorted;
}

SmallVector<KernelBuffer> shoal::collectBuffers(linalg::GenericOp op,
                                                const LoopNest &nest) {
  Buffers buffers;
  for (auto [operand, access] :
       llvm::zip_equal(findAccessed(op), nest.accesses)) {
    if (!access.isTouched())
      continue;
    KernelBuffer &buffer = add(buffers, operand, nest, access);
    buffer.isRead |= access.isRead;
    buffer.isWritten |= access.isWritten;
  }
  return readOnlyFirst(buffers);
}

SmallVector<KernelBuffer> shoal::collectBuffers(const RowGroup &group) {
  Buffers buffers;
  for (const RowPhase &phase : group.phases)
    for (auto [operand, slot] : llvm::enumerate(phase.slots)) {
      if (!slot || group.slots[*slot].isLocal())
        continue;
      KernelBuffer &buffer = add(buffers, phase.op->getOperand(operand),
                                 phase.nest, phase.nest.accesses[operand]);
      buffer.isRead |= group.slots[*slot].isLoaded;
      buffer.isWritten |= group.slots[*slot].lastWrite.has_value();
    }
  return readOnlyFirst(buffers);
}

rt::TouchAttr KernelBuffer::describe(MLIRContext *context) const {
  rt::Access access = !isWritten ? rt::Access::Read
                      : isRead   ? rt::Access::ReadWrite
                                 : rt::Access::Write;
  return rt::TouchAttr::get(context, access,
                            (elements.last - elements.first + 1) * elementBytes,
                            elements.first * elementBytes);
}

/// A flat memref that ends with the last element touched.
static Type getParameterType(const KernelBuffer &buffer, Type element) {
  return MemRefType::get({buffer.elements.last + 1}, getStorageType(element));
}

gpu::GPUFuncOp shoal::createKernel(OpBuilder &builder, func::FuncOp func,
                                   const KernelLaunch &launch) {
  SmallVector<Type> types;
  for (const KernelBuffer &buffer : launch.buffers)
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
  case KernelShape::FusedRows:
    break;
  }
  llvm_unreachable("rows of several ops are no shape of one op");
}

/// Ends the kernel and gives it the constants of the function.
static IRMapping beginKernel(gpu::GPUFuncOp kernel, func::FuncOp func) {
  OpBuilder builder = OpBuilder::atBlockBegin(&kernel.getBody().front());
  IRMapping mapping;
  for (Operation &op : func.getBody().front())
    if (op.hasTrait<OpTrait::ConstantLike>())
      builder.clone(op, mapping);
  gpu::ReturnOp::create(builder, func.getLoc());
  return mapping;
}

/// The kernel's parameter of each access, null where there is none.
static KernelEmitter::Values parametersOf(linalg::GenericOp op,
                                          gpu::GPUFuncOp kernel,
                                          const KernelLaunch &launch) {
  KernelEmitter::Values parameters;
  for (Value operand : findAccessed(op)) {
    auto argument = dyn_cast<BlockArgument>(operand);
    const auto *found =
        llvm::find_if(launch.buffers, [&](const KernelBuffer &buffer) {
          return argument && buffer.argument == argument.getArgNumber();
        });
    parameters.push_back(
        found == launch.buffers.end()
            ? Value()
            : kernel.getArgument(found - launch.buffers.begin()));
  }
  return parameters;
}

void shoal::emitKernel(gpu::GPUFuncOp kernel, linalg::GenericOp op,
                       const LoopNest &nest, const KernelLaunch &launch) {
  IRMapping mapping = beginKernel(kernel, op->getParentOfType<func::FuncOp>());
  KernelEmitter emitter(op, nest, launch.schedule, kernel,
                        parametersOf(op, kernel, launch), mapping);
  emitShape(emitter);
  // What only led to the address of a captured load.
  IRRewriter rewriter(kernel.getContext());
  if (nest.accesses.size() != op->getNumOperands())
    (void)runRegionDCE(rewriter, kernel.getBody());
}

void shoal::emitKernel(gpu::GPUFuncOp kernel, const RowGroup &group,
                       const KernelLaunch &launch) {
  auto func = group.phases.front().op->getParentOfType<func::FuncOp>();
  IRMapping mapping = beginKernel(kernel, func);
  SmallVector<std::unique_ptr<KernelEmitter>> emitters;
  for (const RowPhase &phase : group.phases)
    emitters.push_back(std::make_unique<KernelEmitter>(
        phase.op, phase.nest, phase.schedule, kernel,
        parametersOf(phase.op, kernel, launch), mapping));
  emitRows(group, emitters);
}
