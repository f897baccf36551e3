// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The pass --shoal-split-groups.

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "shoal/Dialect/Shoal/IR/AnnotationsOps.h"
#include "shoal/Dialect/Shoal/IR/Axes.h"
#include "shoal/Dialect/Shoal/IR/ContractionOps.h"
#include "shoal/Dialect/Shoal/IR/TensorBuilder.h"
#include "shoal/Dialect/Shoal/IR/VerifyUtils.h"
#include "shoal/Interfaces/PartitionInterfaces.h"
#include "shoal/Transforms/Debug/PassCounter.h"
#include "shoal/Transforms/Import/Passes.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/DebugLog.h"

namespace shoal {
#define GEN_PASS_DEF_SPLITGROUPS
#include "shoal/Transforms/Import/Passes.h.inc"
} // namespace shoal

#define DEBUG_TYPE "shoal-split-groups"

using namespace mlir;
using namespace shoal;

static PassCounter numProducts(DEBUG_TYPE, "Products of rows in parts");

using Term = SmallVector<char, 6>;

static bool isIn(char letter, ArrayRef<char> term) {
  return llvm::is_contained(term, letter);
}

namespace {

/// Which rows are in which group, and the dimension of the bounds that is cut
/// into parts.
struct Grouping {
  Value begins, ends;
  int64_t dim;

  char letterOf(const EinsumSpec &spec) const { return spec.inputs[2][dim]; }
  bool operator==(const Grouping &) const = default;
};

/// The products with one grouping, and what is made of them row by row.
class RowParts {
public:
  RowParts(Grouping grouping, int64_t parts)
      : grouping(grouping), parts(parts) {}

  /// Whether anything was rewritten.
  bool run(ArrayRef<RaggedEinsumOp> products);

private:
  bool isOfGrouping(RaggedEinsumOp op) const {
    return op.getBegins() == grouping.begins && op.getEnds() == grouping.ends;
  }
  bool makesRows(RaggedEinsumOp op) const;
  bool followsRows(Value value);
  bool readsParts(RaggedEinsumOp op);
  Value partsOf(Value value);
  Value repeated(Value value);
  Value productInParts(RaggedEinsumOp op);
  Value together(RaggedEinsumOp op, Value inParts);
  Value cut(TensorBuilder &b, Value value, int64_t dim) const;

  Grouping grouping;
  int64_t parts;
  llvm::DenseMap<Value, bool> follows;
  llvm::MapVector<Value, Value> made;
};

} // namespace

/// Whether each row of the result is that of one group.
bool RowParts::makesRows(RaggedEinsumOp op) const {
  EinsumSpec spec = op.getTerms();
  return isIn(op.getRows().front(), spec.result) &&
         !isIn(grouping.letterOf(spec), spec.result);
}

/// Whether the value is made, row by row, of products whose rows lie in parts.
bool RowParts::followsRows(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return false;
  if (auto product = dyn_cast<RaggedEinsumOp>(op))
    return isOfGrouping(product) && makesRows(product);
  auto known = follows.find(value);
  if (known != follows.end())
    return known->second;
  bool result = op->hasTrait<OpTrait::Elementwise>() &&
                op->getNumResults() == 1 && op->getNumRegions() == 0 &&
                llvm::any_of(op->getOperands(), [&](Value operand) {
                  return followsRows(operand);
                });
  follows[value] = result;
  return result;
}

/// Whether an operand without the groups' letter comes in parts.
bool RowParts::readsParts(RaggedEinsumOp op) {
  EinsumSpec spec = op.getTerms();
  auto comesInParts = [&](unsigned i) {
    return isIn(op.getRows().front(), spec.inputs[i]) &&
           !isIn(grouping.letterOf(spec), spec.inputs[i]) &&
           followsRows(op->getOperand(i));
  };
  return comesInParts(0) || comesInParts(1);
}

/// The same for all parts.
Value RowParts::repeated(Value value) {
  OpBuilder at(value.getContext());
  at.setInsertionPointAfterValue(value);
  TensorBuilder b(value.getLoc(), at);
  RankedTensorType type = tensorTypeOf(value);
  SmallVector<int64_t> shape{parts};
  llvm::append_range(shape, type.getShape());
  DenseElementsAttr constant;
  if (matchPattern(value, m_Constant(&constant)) && constant.isSplat())
    return arith::ConstantOp::create(b,
                                     constant.resizeSplat(type.clone(shape)));
  return b.broadcast(value, shape,
                     llvm::to_vector(llvm::seq<int64_t>(1, shape.size())));
}

Value RowParts::partsOf(Value value) {
  if (Value known = made.lookup(value))
    return known;
  Value result;
  if (!followsRows(value)) {
    result = repeated(value);
  } else if (auto product = value.getDefiningOp<RaggedEinsumOp>()) {
    result = productInParts(product);
  } else {
    Operation *op = value.getDefiningOp();
    IRMapping mapping;
    for (Value operand : op->getOperands())
      mapping.map(operand, partsOf(operand));
    OpBuilder at(op);
    Operation *clone = at.clone(*op, mapping);
    RankedTensorType type = tensorTypeOf(value);
    SmallVector<int64_t> shape{parts};
    llvm::append_range(shape, type.getShape());
    clone->getResult(0).setType(type.clone(shape));
    result = clone->getResult(0);
  }
  made[value] = result;
  return result;
}

/// Dimension `dim` as one for the parts and one for what each has.
Value RowParts::cut(TensorBuilder &b, Value value, int64_t dim) const {
  SmallVector<int64_t> shape(tensorTypeOf(value).getShape());
  shape[dim] /= parts;
  shape.insert(shape.begin() + dim, parts);
  return b.reshape(value, shape);
}

/// A letter that the einsum does not have.
static char freeLetter(const EinsumSpec &spec) {
  auto isFree = [&](char letter) {
    return !isIn(letter, spec.result) &&
           llvm::none_of(spec.inputs, [&](ArrayRef<char> term) {
             return isIn(letter, term);
           });
  };
  for (StringRef letters =
           "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
       char letter : letters)
    if (isFree(letter))
      return letter;
  return 0;
}

/// The product with a letter more, for the parts: in front of the groups' where
/// that stands, else in front of all. Of rows that are the same for all parts
/// each reads its own.
Value RowParts::productInParts(RaggedEinsumOp op) {
  OpBuilder at(op);
  TensorBuilder b(op.getLoc(), at);
  EinsumSpec spec = op.getTerms();
  char group = grouping.letterOf(spec), part = freeLetter(spec);
  auto placeOf = [&](const Term &term) {
    const char *place = llvm::find(term, group);
    return place == term.end() ? int64_t(0) : place - term.begin();
  };
  auto withPart = [&](Term term) {
    term.insert(term.begin() + placeOf(term), part);
    return term;
  };
  std::string text;
  SmallVector<Value> operands;
  for (auto [term, operand] : llvm::zip(spec.inputs, op->getOperands())) {
    Term letters = term;
    if (isIn(group, term)) {
      operands.push_back(cut(b, operand, placeOf(term)));
      letters = withPart(term);
    } else if (followsRows(operand) && isIn(op.getRows().front(), term)) {
      operands.push_back(partsOf(operand));
      letters = withPart(term);
    } else {
      operands.push_back(operand);
    }
    text.append(text.empty() ? "" : ",").append(letters.begin(), letters.end());
  }
  Term result = withPart(spec.result);
  text.append("->").append(result.begin(), result.end());
  SmallVector<int64_t> shape(op.getType().getShape());
  int64_t place = placeOf(spec.result);
  if (isIn(group, spec.result))
    shape[place] /= parts;
  shape.insert(shape.begin() + place, parts);
  LDBG() << op.getSpec() << " at " << op.getLoc() << " becomes " << text;
  ++numProducts;
  return RaggedEinsumOp::create(
      b, op.getType().clone(shape), text, op.getRows(), operands[0],
      operands[1], operands[2], cut(b, op.getEnds(), grouping.dim));
}

/// What the op makes, of that in parts.
Value RowParts::together(RaggedEinsumOp op, Value inParts) {
  OpBuilder at(op.getContext());
  at.setInsertionPointAfterValue(inParts);
  TensorBuilder b(op.getLoc(), at);
  EinsumSpec spec = op.getTerms();
  if (isIn(grouping.letterOf(spec), spec.result))
    return b.reshape(inParts, op.getType().getShape());
  return b.convert(b.reduce(ReduceKind::Sum, inParts, {0}),
                   op.getType().getElementType());
}

bool RowParts::run(ArrayRef<RaggedEinsumOp> products) {
  SmallVector<RaggedEinsumOp> readers;
  for (RaggedEinsumOp op : products)
    if (readsParts(op))
      readers.push_back(op);
  for (RaggedEinsumOp op : readers)
    if (!made.contains(op.getResult())) {
      Value inParts = productInParts(op);
      made[op.getResult()] = inParts;
    }
  // What else reads a product gets it together.
  for (RaggedEinsumOp op : products)
    if (Value inParts = made.lookup(op.getResult()))
      op.getResult().replaceAllUsesWith(together(op, inParts));
  return !readers.empty();
}

//===----------------------------------------------------------------------===//
// What the annotations say
//===----------------------------------------------------------------------===//

/// The sharding that an annotation gives the value, through what changes its
/// elements alone.
static ShardingAttr annotationOf(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto function = dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp());
    return function ? function.getArgAttrOfType<ShardingAttr>(
                          argument.getArgNumber(), kShardingAttr)
                    : ShardingAttr();
  }
  Operation *op = value.getDefiningOp();
  if (auto constraint = dyn_cast<ShardingConstraintOp>(op))
    return constraint.getSharding();
  return op->hasTrait<OpTrait::Elementwise>() && op->getNumOperands() == 1
             ? annotationOf(op->getOperand(0))
             : ShardingAttr();
}

/// Into how many parts annotations cut the groups of an operand.
static int64_t countParts(RaggedEinsumOp op, const Grouping &grouping) {
  EinsumSpec spec = op.getTerms();
  for (unsigned i : {0, 1}) {
    const char *place = llvm::find(spec.inputs[i], grouping.letterOf(spec));
    ShardingAttr sharding = annotationOf(op->getOperand(i));
    if (place == spec.inputs[i].end() || !sharding)
      continue;
    MeshOp mesh = lookupMesh(op, sharding.getMesh());
    DimShardingAttr dim = sharding.getDims()[place - spec.inputs[i].begin()];
    if (mesh)
      return sizeOf(dim.getAxes(), mesh.getMesh());
  }
  return 1;
}

namespace {

struct SplitGroups : shoal::impl::SplitGroupsBase<SplitGroups> {
  void runOnOperation() override {
    // By bounds, in the order of the program.
    llvm::MapVector<std::pair<Value, Value>, SmallVector<RaggedEinsumOp>> all;
    getOperation()->walk([&](RaggedEinsumOp op) {
      if (!op->getParentOfType<BoundaryOpInterface>())
        all[{op.getBegins(), op.getEnds()}].push_back(op);
    });
    bool changed = false;
    for (auto &[bounds, products] : all)
      changed |= splitProducts({bounds.first, bounds.second, 0}, products);
    if (changed)
      eraseUnused();
  }

  /// The first dimension of the bounds that annotations cut, if any.
  static bool splitProducts(Grouping grouping,
                            ArrayRef<RaggedEinsumOp> products) {
    ArrayRef<int64_t> groups = tensorTypeOf(grouping.begins).getShape();
    for (; grouping.dim < static_cast<int64_t>(groups.size()); ++grouping.dim)
      for (RaggedEinsumOp op : products) {
        int64_t parts = countParts(op, grouping);
        if (parts > 1 && groups[grouping.dim] % parts == 0)
          return RowParts(grouping, parts).run(products);
      }
    return false;
  }

  void eraseUnused() {
    SmallVector<Operation *> ops;
    getOperation()->walk([&](Operation *op) { ops.push_back(op); });
    for (Operation *op : llvm::reverse(ops))
      if (op != getOperation() && isOpTriviallyDead(op))
        op->erase();
  }
};

} // namespace
