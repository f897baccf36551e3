// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A random program in the making: values to build on, and random decisions.

#ifndef SHOAL_FUZZ_PROGRAMBUILDER_H
#define SHOAL_FUZZ_PROGRAMBUILDER_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/OwningOpRef.h"
#include "shoal/Dialect/Shoal/IR/FloatTypes.h"
#include "shoal/Dialect/Shoal/IR/Shoal.h"
#include "shoal/Fuzz/Bounds.h"
#include "shoal/Fuzz/Choices.h"
#include "shoal/Sharding/Sharding.h"
#include <functional>

namespace shoal::fuzz {

/// A value and what is known of it.
struct Known {
  mlir::Value value;
  Bounds range;

  mlir::RankedTensorType type() const {
    return mlir::cast<mlir::RankedTensorType>(value.getType());
  }
  mlir::Type element() const { return type().getElementType(); }
  llvm::ArrayRef<int64_t> shape() const { return type().getShape(); }
  bool isFloat() const { return mlir::isa<mlir::FloatType>(element()); }
  /// Of no float of 8 bits, which sums and composites do not take.
  bool canBeSummed() const { return !isFloat8(element()); }
};

/// A program to check: a module of one public function and its meshes.
struct Program {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::func::FuncOp entry;
  llvm::SmallVector<Bounds> arguments, results;

  Program clone() const;
};

/// What an argument of the type holds: of floats whole numbers up to 3 in
/// magnitude, of integers any up to 8.
Bounds inputBounds(mlir::Type element);

/// What all programs of a run have in common.
struct ProgramKind {
  /// Whether all that is drawn is to have a gradient.
  bool isDifferentiable = false;
  /// Whether sizes are drawn from both sides of those that decide how a program
  /// is run (shoal/Support/Threshold.h): kernels cut for threads, transposes in
  /// tiles, products in pieces, rows past the caches. Else all are small.
  bool isLarge = false;
  /// How many devices a mesh may have; up to 16 where empty.
  llvm::SmallVector<int64_t> devices;
};

class ProgramBuilder {
public:
  /// Starts with a random mesh and a few sizes that dimensions have.
  ProgramBuilder(mlir::MLIRContext &context, Choices &choices,
                 const ProgramKind &kind = {});

  Choices &choices;
  mlir::OpBuilder builder;
  mlir::Location loc;
  /// Its axes cut where sub-axes of the annotations end.
  Mesh mesh;
  /// As the program's kind says.
  const bool isDifferentiable, isLarge;

  /// Of a value, and of the products of an einsum's elements.
  int64_t maxElements = 4096, maxPoints = 200000;

  /// Values of the program, the newest first in the draw; nothing where none
  /// satisfies `suits`.
  std::optional<Known> pick(llvm::function_ref<bool(const Known &)> suits);
  /// A value that `suits`, or a new argument.
  Known pickOr(llvm::function_ref<bool(const Known &)> suits,
               llvm::function_ref<mlir::RankedTensorType()> makeType);
  std::optional<Known> pickFloat(int64_t minRank = 0);
  /// One of any type, a new argument where none has so many dimensions.
  Known anyValue(int64_t minRank);
  /// One to three, maybe none, for what passes them on.
  llvm::SmallVector<Known> anyValues();
  /// A value of this type, an argument where there is none; of floats, one
  /// whose range `suits`, by default any.
  Known pickOfType(mlir::RankedTensorType type,
                   llvm::function_ref<bool(Bounds)> suits = nullptr);

  /// A new argument; in an isolated region, which has none, a constant.
  Known input(mlir::RankedTensorType type);
  Known constant(mlir::RankedTensorType type, double value);

  int64_t size() { return choices.pick(sizes); }
  llvm::SmallVector<int64_t> shape(int64_t minRank, int64_t maxRank);
  /// None of 8 bits.
  mlir::Type floatType();
  mlir::Type integerType();
  mlir::Type elementType();
  mlir::RankedTensorType tensor(llvm::ArrayRef<int64_t> shape,
                                mlir::Type element) {
    return mlir::RankedTensorType::get(shape, element);
  }
  bool fits(llvm::ArrayRef<int64_t> shape) const;

  /// Adds an op by its name, of results of these types.
  mlir::Operation *
  op(llvm::StringRef name, mlir::ValueRange operands, mlir::TypeRange results,
     llvm::ArrayRef<mlir::NamedAttribute> attributes = {},
     mlir::MutableArrayRef<std::unique_ptr<mlir::Region>> regions = {});

  /// Adds an op whose results are its operands; false where there are none.
  bool addIdentity(llvm::StringRef name, llvm::ArrayRef<Known> operands,
                   llvm::ArrayRef<mlir::NamedAttribute> attributes);

  /// Makes a value known: later ops may use it, the program may return it.
  void add(mlir::Value value, Bounds range);
  /// Puts an annotation behind a value, which stands for it from then on.
  Known annotate(Known known);

  /// A region of one block with arguments, of which `make` knows. What it
  /// makes known is forgotten behind the region, and so are its ops unless an
  /// op takes the region. In an isolated one no value from outside is known.
  std::unique_ptr<mlir::Region>
  region(mlir::TypeRange types, llvm::function_ref<void(mlir::ValueRange)> make,
         bool isIsolated = false);
  /// Adds up to `most` random ops, by `addRandomOp`.
  void addOps(unsigned most);
  /// How many regions there are around the place of the next op.
  unsigned depth() const { return numRegions; }

  /// The axes along which the place of the next op is written for one device,
  /// and the mesh that ops there name; null outside.
  AxisList manualAxes;
  mlir::FlatSymbolRefAttr manualMesh;
  /// One of the program's meshes.
  mlir::FlatSymbolRefAttr pickMesh();

  /// What makes the ops in regions.
  std::function<void(ProgramBuilder &)> addRandomOp;

  Program finish() &&;

private:
  void addMesh(llvm::ArrayRef<int64_t> devices);
  void addSizes();
  void addLargeSizes();
  void dropTooLarge();
  void makeMesh(llvm::StringRef name, llvm::ArrayRef<int64_t> order);
  ShardingAttr randomSharding(llvm::ArrayRef<int64_t> shape);
  mlir::Value annotateByAxes(Known known);
  mlir::Value annotateByDevices(Known known);

  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::func::FuncOp entry;
  llvm::SmallVector<int64_t> sizes;
  llvm::SmallVector<Known> values;
  /// Where the values that are known begin, in an isolated region.
  size_t firstKnown = 0;
  llvm::SmallVector<Bounds> arguments;
  unsigned numRegions = 0;
  /// The same devices in another order; often empty.
  std::string otherMesh;
};

} // namespace shoal::fuzz

#endif // SHOAL_FUZZ_PROGRAMBUILDER_H
