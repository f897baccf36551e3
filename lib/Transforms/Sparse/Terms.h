// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Terms: what an element of a tensor is, by its index.
//
// Of `%m = cmpi eq, %places, iota`, element (s, c) is the term
//
//   eq(Element(%places, [s]), c)        s = Index(0), c = Index(1)
//
// The element of something at a place is found by substituting terms for
// indices: at c = Element(%places, [s]) this one is eq(t, t), which folds to
// true. Terms are interned, so that equal ones have one address, and folded as
// they are made, by the folders of MLIR's ops on scalars.

#ifndef SHOAL_LIB_TRANSFORMS_SPARSE_TERMS_H
#define SHOAL_LIB_TRANSFORMS_SPARSE_TERMS_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/Utils/InferIntRangeCommon.h"
#include "shoal/Interfaces/ElementInterfaces.h"
#include "llvm/ADT/DenseMap.h"
#include <deque>

namespace shoal::sparse {

enum class TermKind {
  Index,   ///< The index along a dimension of `size` rows, an i32.
  Number,  ///< A constant.
  Element, ///< The element of `value` at `operands`, each cut to its range.
  Op,      ///< An op on scalars.
  Sum,     ///< The sum over `bound` of the product of `operands`.
};

struct TermNode {
  TermKind kind;
  mlir::Type type;
  int64_t id = 0, size = 0;
  mlir::TypedAttr number;
  mlir::Value value;
  std::optional<mlir::OperationName> name;
  mlir::DictionaryAttr attributes;
  TermList operands;
  TermList bound;
  /// The indices that occur and are not bound, in the order of their ids.
  TermList free;
  /// Of the longest chain of operands.
  unsigned depth = 0;
  /// No element of a tensor occurs.
  bool isClosed = true;

  TermNode(TermKind kind, mlir::Type type) : kind(kind), type(type) {}
  bool isIndex() const { return kind == TermKind::Index; }
  bool isNumber() const { return kind == TermKind::Number; }
  bool isElement() const { return kind == TermKind::Element; }
  bool dependsOn(Term index) const { return llvm::is_contained(free, index); }
};

/// Whether the term is an op, one of these.
template <typename... Ops>
bool isOp(Term term) {
  return term->kind == TermKind::Op &&
         ((term->name->getStringRef() == Ops::getOperationName()) || ...);
}

/// Of all these dimensions together.
inline double sizeOf(TermRange dims) {
  double size = 1;
  for (Term dim : dims)
    size *= double(dim->size);
  return size;
}

using Substitution = llvm::DenseMap<Term, Term>;

class Terms {
public:
  explicit Terms(mlir::MLIRContext *context)
      : builder(context), scratch(std::make_unique<mlir::Block>()) {}

  Term index(int64_t id, int64_t size);
  /// An index that occurs nowhere else.
  Term freshIndex(int64_t size) { return index(nextId++, size); }
  /// The indices 0, 1, ... of a tensor's dimensions.
  TermList indicesOf(mlir::Value tensor);

  Term number(mlir::TypedAttr number);
  Term integer(int64_t number, mlir::Type type = {});
  Term boolean(bool value) { return integer(value, builder.getI1Type()); }
  Term zero(mlir::Type type) { return number(builder.getZeroAttr(type)); }

  /// The element of a tensor, or what it is a view of.
  Term element(mlir::Value tensor, TermRange index);
  /// The same without a look at what the tensor is.
  Term opaqueElement(mlir::Value tensor, TermRange index);

  Term op(mlir::OperationName name, mlir::DictionaryAttr attributes,
          mlir::Type type, TermRange operands);
  template <typename Op>
  Term op(mlir::Type type, TermRange operands,
          mlir::DictionaryAttr attributes = {}) {
    return op(mlir::OperationName(Op::getOperationName(), getContext()),
              attributes ? attributes : builder.getDictionaryAttr({}), type,
              operands);
  }
  /// The op at other operands.
  Term op(mlir::Operation *like, TermRange operands);

  /// `factors` may be of a narrower type than the sum, which is accumulated as
  /// einsum says.
  Term sum(TermRange bound, TermRange factors, mlir::Type type);
  /// The factors' product in `type`.
  Term product(TermRange factors, mlir::Type type);

  // Arithmetic on integers, and choices.
  Term compare(mlir::arith::CmpIPredicate predicate, Term a, Term b);
  Term equal(Term a, Term b);
  Term select(Term condition, Term a, Term b);
  Term add(Term a, Term b);
  Term subtract(Term a, Term b);
  Term conjunction(Term a, Term b);
  /// Sums of numbers of any kind.
  Term plus(Term a, Term b);
  /// 0 <= place < size.
  Term isInRange(Term place, int64_t size);
  /// `value` as another type of the same kind.
  Term convert(Term value, mlir::Type type);

  Term substitute(Term term, const Substitution &substitution);
  /// The value of `index` for which `term` is `target`; null where that is
  /// not clear. -1 or another place out of range where there is none.
  Term solve(Term term, Term index, Term target);
  /// Whether two integers differ whatever the tensors are.
  bool areNeverEqual(Term a, Term b);
  /// Of an integer; empty where nothing is known.
  std::optional<mlir::ConstantIntRanges> range(Term term);

  /// What an element of the tensor is, by its indices; null where only the
  /// tensor itself can tell.
  Term definition(mlir::Value tensor);
  /// The definition at an index.
  Term definition(mlir::Value tensor, TermRange index);

  /// A term over the tensor's indices at another index.
  Term at(Term term, mlir::Value tensor, TermRange index);

  mlir::MLIRContext *getContext() const { return builder.getContext(); }

private:
  struct Definition {
    Term term = nullptr;
    /// Elements of the tensor are written as this term at once.
    bool isAlias = false;
  };
  const Definition &define(mlir::Value tensor);
  Definition makeDefinition(mlir::Value tensor);
  Term intern(TermNode node);
  /// The op on scalars, with arguments of a block for operands; not inserted.
  mlir::Operation *instantiate(const TermNode &node,
                               llvm::SmallVectorImpl<mlir::Value> &arguments);
  Term fold(const TermNode &node);
  Term foldByRange(Term term);
  std::optional<mlir::ConstantIntRanges> computeRange(Term term);
  std::optional<mlir::ConstantIntRanges> inferRange(const TermNode &node);
  Term substitute(Term term, const Substitution &substitution,
                  Substitution &done);

  mlir::OpBuilder builder;
  std::deque<TermNode> nodes;
  llvm::DenseMap<size_t, llvm::SmallVector<Term, 1>> interned;
  llvm::DenseMap<mlir::Value, Definition> definitions;
  llvm::DenseMap<Term, std::optional<mlir::ConstantIntRanges>> ranges;
  /// Arguments stand for operands of ops that are folded.
  std::unique_ptr<mlir::Block> scratch;
  llvm::DenseMap<std::pair<mlir::Type, unsigned>, mlir::Value> arguments;
  int64_t nextId = 1 << 16;
};

/// Deeper terms are not built: those who walk them recur.
inline constexpr unsigned kMaxDepth = 256;

/// An op that makes each element of the operands' elements of one index.
bool isElementwiseOnTensors(mlir::Operation *op);

/// The rank and sizes of a tensor.
inline mlir::RankedTensorType tensorType(mlir::Value value) {
  return llvm::cast<mlir::RankedTensorType>(value.getType());
}

} // namespace shoal::sparse

#endif // SHOAL_LIB_TRANSFORMS_SPARSE_TERMS_H
