// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "KernelLaunch.h"
#include "CapturedLoads.h"
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

SmallVector<KernelBuffer> shoal::collectBuffers(linalg::GenericOp op,
                                                const LoopNest &nest) {
  std::map<unsigned, KernelBuffer> buffers;
  for (auto [operand, access] :
       llvm::zip_equal(findAccessed(op), nest.accesses)) {
    if (!access.isTouched())
      continue;
    unsigned argument = cast<BlockArgument>(operand).getArgNumber();
    ElementRange range = nest.getElementRange(access);
    KernelBuffer &buffer =
        buffers
            .try_emplace(argument,
                         KernelBuffer{argument, access.elementBytes, range})
            .first->second;
    buffer.elements.first = std::min(buffer.elements.first, range.first);
    buffer.elements.last = std::max(buffer.elements.last, range.last);
    buffer.isRead |= access.isRead;
    buffer.isWritten |= access.isWritten;
  }
  SmallVector<KernelBuffer> sorted;
  for (bool isWritten : {false, true})
    for (auto &[argument, buffer] : buffers)
      if (buffer.isWritten == isWritten)
        sorted.push_back(buffer);
  return sorted;
}

SmallVector<int64_t> KernelLaunch::describe() const {
  SmallVector<int64_t> desc = {*kernel,
                               schedule.grid,
                               1,
                               1,
                               schedule.blockX,
                               schedule.blockY,
                               1,
                               /*dynamic shared bytes=*/0,
                               static_cast<int64_t>(buffers.size())};
  for (const KernelBuffer &buffer : buffers) {
    int64_t elements = buffer.elements.last - buffer.elements.first + 1;
    desc.append({buffer.elements.first * buffer.elementBytes,
                 elements * buffer.elementBytes, buffer.getAccess()});
  }
  return desc;
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
  }
}

void shoal::emitKernel(gpu::GPUFuncOp kernel, linalg::GenericOp op,
                       const LoopNest &nest, const KernelLaunch &launch) {
  OpBuilder builder = OpBuilder::atBlockBegin(&kernel.getBody().front());
  IRMapping mapping;
  auto func = op->getParentOfType<func::FuncOp>();
  for (Operation &constant : func.getBody().front().without_terminator())
    if (&constant != op.getOperation())
      builder.clone(constant, mapping);
  gpu::ReturnOp::create(builder, op.getLoc());
  KernelEmitter::Values buffers;
  for (Value operand : findAccessed(op)) {
    const auto *found =
        llvm::find_if(launch.buffers, [&](const KernelBuffer &buffer) {
          return operand == func.getArgument(buffer.argument);
        });
    buffers.push_back(found == launch.buffers.end()
                          ? Value()
                          : kernel.getArgument(found - launch.buffers.begin()));
  }
  KernelEmitter emitter(op, nest, launch.schedule, kernel, buffers, mapping);
  emitShape(emitter);
  // What only led to the address of a captured load.
  IRRewriter rewriter(kernel.getContext());
  if (buffers.size() != op->getNumOperands())
    (void)runRegionDCE(rewriter, kernel.getBody());
}
