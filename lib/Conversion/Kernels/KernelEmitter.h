// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What the kernels of all shapes are made of: index arithmetic, accesses, the
// op's body, shuffles and shared memory.

#ifndef SHOAL_LIB_CONVERSION_KERNELS_KERNELEMITTER_H
#define SHOAL_LIB_CONVERSION_KERNELS_KERNELEMITTER_H

#include "../Device/CapturedLoads.h"
#include "../Device/KernelSchedule.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/IRMapping.h"

namespace shoal {

/// Emits into the body of a `gpu.func`, in front of its end. Indices and
/// addresses are signless integers of one type, signed in meaning; addresses
/// count elements behind a buffer's pointer. Kernels see a buffer as a memref
/// with one dimension, bools as bytes.
class KernelEmitter {
public:
  using Values = llvm::SmallVector<mlir::Value>;

  /// `buffers` has the kernel's parameter of each of the nest's accesses, null
  /// where it has none; `mapping` the constants that the op's body uses.
  KernelEmitter(mlir::linalg::GenericOp op, const LoopNest &nest,
                const KernelSchedule &schedule, mlir::gpu::GPUFuncOp kernel,
                Values buffers, const mlir::IRMapping &mapping);

  mlir::linalg::GenericOp op;
  const LoopNest &nest;
  const KernelSchedule &schedule;
  mlir::OpBuilder builder;
  mlir::Location loc;

  // Index arithmetic; operations on constants leave constants.
  mlir::Value constant(int64_t value);
  /// Of any type of elements.
  mlir::Value zero(mlir::Type type);
  mlir::Value add(mlir::Value lhs, mlir::Value rhs);
  mlir::Value mul(mlir::Value lhs, int64_t rhs);
  mlir::Value div(mlir::Value lhs, int64_t rhs);
  mlir::Value rem(mlir::Value lhs, int64_t rhs);
  mlir::Value isLess(mlir::Value lhs, int64_t rhs);
  mlir::Value select(mlir::Value condition, int64_t yes, int64_t no);
  mlir::Value smaller(mlir::Value lhs, int64_t rhs);
  mlir::Value both(mlir::Value lhs, mlir::Value rhs);
  mlir::Value threadX();
  mlir::Value threadY();

  // Control flow.
  using Body = llvm::function_ref<void(mlir::Value)>;
  /// For each of the schedule's blocks, by its number. Uniform over the block.
  void forEachBlock(Body body);
  /// A thread of the grid for each of `items`.
  void forEachItem(int64_t items, Body body);
  void ifTrue(mlir::Value condition, llvm::function_ref<void()> body);
  /// What `body` returns where the condition holds, else `otherwise`.
  Values ifTrue(mlir::Value condition, llvm::ArrayRef<mlir::Value> otherwise,
                llvm::function_ref<Values()> body);
  using LoopBody = llvm::function_ref<Values(mlir::Value, mlir::ValueRange)>;
  /// for (i = from; i < to; i += step), carrying values.
  Values forLoop(mlir::Value from, mlir::Value to, int64_t step,
                 mlir::ValueRange carried, LoopBody body);

  /// Zero for each of the nest's loops.
  Values zeroIndices();
  /// Sets the indices of `loops` from the number of an iteration, the last loop
  /// fastest, in steps of `lastStep`.
  void setIndices(mlir::Value number, llvm::ArrayRef<unsigned> loops,
                  int64_t lastStep, Values &indices);

  // Memory. An operand's number may be that of any of the nest's accesses; the
  // terms of captured loads come on top of their `address`.
  /// The type of the operand's elements, or of the operand that is no buffer.
  mlir::Type elementType(unsigned operand) const;
  mlir::Value address(unsigned operand, llvm::ArrayRef<mlir::Value> indices);
  mlir::Value load(unsigned operand, mlir::Value address);
  void store(unsigned operand, mlir::Value address, mlir::Value value);
  /// The schedule's `vector` elements along the dense loop from `indices` on.
  Values loadVector(unsigned operand, llvm::ArrayRef<mlir::Value> indices);
  void storeVector(unsigned operand, llvm::ArrayRef<mlir::Value> indices,
                   llvm::ArrayRef<mlir::Value> values);

  /// `vector` times the constant that the operand is; null where it is a buffer
  /// that is not read.
  Values withoutMemory(unsigned operand);

  /// What captured loads give for neighbouring elements; those that are not
  /// there are loaded one by one.
  using CapturedValues = llvm::SmallDenseMap<mlir::Operation *, Values>;

  /// The op's body at `indices`: what it yields. `arguments` are those of its
  /// block; those that it does not use may be null. The captured loads' values
  /// are those of `element`.
  Values runBody(llvm::ArrayRef<mlir::Value> indices,
                 llvm::ArrayRef<mlir::Value> arguments,
                 const CapturedValues &captured = CapturedValues(),
                 int64_t element = 0);
  /// The body for `vector` elements along the dense loop from `indices` on.
  /// Stores all results but the reduced ones, which go from `sums` to `sums`:
  /// one set for all elements, or, where they are apart, one after another.
  void runVector(llvm::ArrayRef<mlir::Value> indices, Values &sums,
                 bool areApart);
  /// `indices` moved by `elements` along the dense loop.
  Values moved(llvm::ArrayRef<mlir::Value> indices, int64_t elements);

  // Results. Numbers are those of the op's results.
  unsigned operandOf(unsigned result);
  ResultKind kindOf(unsigned result);
  /// The results of the kind Reduced.
  llvm::SmallVector<unsigned> reducedResults();
  /// The neutral element of each reduced result.
  Values neutralElements();
  /// What a reduced result begins with, at `indices` or for the schedule's
  /// `vector` from there on: the constant of `shoal.initial`, or what its
  /// buffer holds.
  mlir::Value loadInitial(unsigned result, llvm::ArrayRef<mlir::Value> indices);
  Values loadInitialVector(unsigned result,
                           llvm::ArrayRef<mlir::Value> indices);
  /// Combines values of the reduced results with others.
  Values combineSums(llvm::ArrayRef<mlir::Value> lhs,
                     llvm::ArrayRef<mlir::Value> rhs);

  // Between threads.
  mlir::Value shuffleXor(mlir::Value value, int64_t lanes);
  /// Shared memory for elements of `type`.
  mlir::Value allocateShared(int64_t elements, mlir::Type type);
  mlir::Value loadShared(mlir::Value buffer, mlir::Value index,
                         mlir::Type type);
  void storeShared(mlir::Value value, mlir::Value buffer, mlir::Value index);
  void barrier();

private:
  mlir::Value toIndex(mlir::Value value);
  mlir::Value fromIndex(mlir::Value value);
  /// The schedule's `vector` elements along the dense loop from `first` on.
  Values loadVectorAt(unsigned operand, mlir::Value first);
  /// A load of the body, whose terms `values` has.
  mlir::Value loadCaptured(mlir::memref::LoadOp loadOp,
                           llvm::ArrayRef<mlir::Value> indices,
                           const mlir::IRMapping &values);
  /// The loads whose terms are the same for the schedule's `vector` elements
  /// from `indices` on; `operands` has these elements.
  CapturedValues loadCapturedVectors(llvm::ArrayRef<mlir::Value> indices,
                                     llvm::ArrayRef<Values> operands);
  /// `value` of the body; `known` has its arguments, and gets what is computed.
  mlir::Value evaluate(mlir::Value value, llvm::ArrayRef<mlir::Value> indices,
                       mlir::IRMapping &known);
  mlir::Value addTerms(mlir::Value address, const CapturedLoad &load,
                       llvm::function_ref<mlir::Value(mlir::Value)> valueOf);
  /// Between a value's type and the one in memory.
  mlir::Value convert(mlir::Value value, mlir::Type type);
  /// The body's linalg.index of the op's loop `number`.
  mlir::Value loopIndex(unsigned number, llvm::ArrayRef<mlir::Value> indices);

  mlir::gpu::GPUFuncOp kernel;
  Values buffers;
  const mlir::IRMapping &mapping;
  mlir::Type integer;
  llvm::SmallVector<CapturedLoad> loads;
};

/// The type in which memory holds values of `type`: bools take bytes.
mlir::Type getStorageType(mlir::Type type);

// What the threads of a row have in common.
/// Shared memory for a reduction whose rows are taken by `lanes` threads; none
/// where these are a part of a warp.
KernelEmitter::Values allocateForWarps(KernelEmitter &emitter, int64_t lanes);
/// Combines the sums of the `lanes` threads of a row, which all get the result.
/// `thread` is the number in the block.
KernelEmitter::Values combineRow(KernelEmitter &emitter,
                                 KernelEmitter::Values sums, mlir::Value thread,
                                 int64_t lanes,
                                 llvm::ArrayRef<mlir::Value> shared);

// One function per shape, each in a file of its own.
void emitMap(KernelEmitter &emitter);
void emitTranspose(KernelEmitter &emitter);
void emitRowReduction(KernelEmitter &emitter);
void emitColumnReduction(KernelEmitter &emitter);
void emitSerialReduction(KernelEmitter &emitter);

} // namespace shoal

#endif // SHOAL_LIB_CONVERSION_KERNELS_KERNELEMITTER_H
