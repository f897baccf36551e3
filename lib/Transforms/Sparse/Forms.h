// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Forms: which elements of a tensor differ from its background (Elements.h).
//
// The laws, with their names in docs/internals/Sparse.md:
//
//   L1  i == t                       t is a place, the element there is true
//   L2  i == t, t has a form         t's exceptions, each with one place more
//   L3  f(V)                         f(background), f(values)
//   L4  0 * X                        the places of the zeros' form, X there
//   L5  0 * 0                        pairs of exceptions, in all dimensions
//   L6  aligned forms                one exception each, not all pairs
//   L7  V + W                        both lists
//   L8  grouping                     those that meet become one
//   L9  sum over a dimension         Contract.h
//   L11 views                        places move
//   L13 places are in range          where there is an exception
//   L14 loops and choices            Joins.h
//   L15 concatenation                Elements/Structure.cpp

#ifndef SHOAL_LIB_TRANSFORMS_SPARSE_FORMS_H
#define SHOAL_LIB_TRANSFORMS_SPARSE_FORMS_H

#include "Joins.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"

namespace shoal::sparse {

/// A sum of products over forms that has no form itself: how it is computed
/// from rows.
struct Rewrite {
  /// The element, by the result's indices; or else
  Term term = nullptr;
  /// rows that are added to zeros: `value` of each over the result's indices
  /// without the dimensions of `rows.dims` and over what the places depend on.
  std::optional<Form> rows;
};

/// A sum of products, of one operand or several, by letters: an index for each
/// dimension of each operand.
struct Contraction {
  mlir::Value result;
  llvm::SmallVector<mlir::Value, 2> operands;
  llvm::SmallVector<TermList, 2> letters;
  /// Letters of the operands that the result lacks.
  TermList summed;
};

/// Why a tensor without a form has none, though an operand of its op has one.
struct Loss {
  mlir::Operation *op;
  std::string reason;
};

/// What a contraction moves that is computed from rows.
struct Moves {
  /// A dimension of an operand of the contraction's op, or of its result.
  struct Dim {
    enum { kResult = -1 };
    int operand;
    unsigned dim;
  };

  double elements = 0;
  /// Runs of elements that lie together, in what is read and in what is
  /// written.
  double rows = 0;
  /// Dimensions along which rows are read by place: however few of these rows a
  /// device holds, it reads as many.
  llvm::SmallVector<Dim, 2> readByPlace;
};

/// How a contraction is computed, and why.
struct Note {
  bool isSparse;
  std::string text;
};

class Forms {
public:
  Forms(Terms &terms, double minGain) : terms(terms), minGain(minGain) {}

  /// Finds the form of the op's result, and of a contraction its rewrite. To
  /// be called for all ops in order.
  void analyze(mlir::Operation *op);

  const Form *lookup(mlir::Value tensor) const;
  const Rewrite *lookupRewrite(mlir::Value tensor) const;
  /// The first op on the way to `tensor` that lost a form; null where none did.
  const Loss *lookupLoss(mlir::Value tensor) const;
  bool hasRewrites() const { return !rewrites.empty(); }

  /// The element at an index: by comparisons where the tensor has a form.
  Term element(mlir::Value tensor, TermRange index);
  /// The element of a form where its dimensions have these indices.
  Term sample(const Form &form, const Substitution &indices);

  /// L3 to L8, by the op's folders.
  Outcome pointwise(mlir::Operation *op);
  /// L1, L2; `isNegated` for !=.
  Outcome equality(mlir::Operation *op, bool isNegated);
  /// L11: `map` is the operand's index by that of the result.
  Outcome reindex(const Form &form, TermRange map, mlir::Value result);
  /// L9, L10: the form of the result, or a rewrite.
  Outcome contract(const Contraction &contraction);
  /// L8.
  Outcome group(const Form &form);
  /// L3: the places of all forms, which have the same dimensions, each once.
  Outcome unite(llvm::ArrayRef<const Form *> lists);
  /// L5: the values are the pairs', combined by `combine`.
  Outcome conjoin(const Form &a, const Form &b,
                  llvm::function_ref<Term(Term, Term)> combine);
  void addRewrite(mlir::Value tensor, Rewrite rewrite) {
    rewrites[tensor] = std::move(rewrite);
  }
  /// Whether the form is that of a sum of products.
  bool isContraction(mlir::Value tensor) const {
    return contractions.contains(tensor);
  }
  /// Whether a form or a rewrite is there for readers at places alone: whoever
  /// reads the tensor as it is has its products.
  bool isForReaders(mlir::Value tensor) const {
    return forReaders.contains(tensor);
  }
  void keepForReaders(mlir::Value tensor) { forReaders.insert(tensor); }
  double getMinGain() const { return minGain; }
  /// A tensor that stands for a part of a form at a join of `owner`.
  mlir::Value makeStandIn(mlir::RankedTensorType type, mlir::Operation *owner);
  /// Null of all other tensors.
  mlir::Operation *lookupStandInOwner(mlir::Value tensor) const {
    return standInOwners.lookup(tensor);
  }
  /// A form that follows from no op.
  void assume(mlir::Value tensor, Form form) {
    forms[tensor] = std::move(form);
  }
  /// A join of `op` that has no form, though `source` may have.
  void lose(mlir::Value tensor, mlir::Value source, mlir::Operation *op);
  /// Forgets all that was found in the op's regions.
  void forgetRegionsOf(mlir::Operation *op);
  void keepJoined(mlir::Operation *op, JoinedForm joined) {
    joinedForms[op].push_back(std::move(joined));
  }
  /// The joins of the op that have forms.
  llvm::ArrayRef<JoinedForm> lookupJoined(mlir::Operation *op) const {
    auto known = joinedForms.find(op);
    if (known == joinedForms.end())
      return {};
    return known->second;
  }
  /// Says of a contraction what was decided.
  void note(mlir::Value tensor, Note text) { notes[tensor] = std::move(text); }
  /// Of a contraction that has a form or a rewrite.
  void addMoves(mlir::Value tensor, Moves list) {
    moves[tensor] = std::move(list);
  }
  const llvm::MapVector<mlir::Value, Moves> &getMoves() const { return moves; }
  /// Null where no operand has or had a form.
  const Note *lookupNote(mlir::Value tensor) const {
    auto known = notes.find(tensor);
    return known == notes.end() ? nullptr : &known->second;
  }

  Terms &terms;

private:
  Outcome transfer(mlir::Operation *op);
  void keep(mlir::Operation *op, Outcome outcome);
  void forget(mlir::Value tensor);

  double minGain;
  llvm::DenseMap<mlir::Value, Form> forms;
  llvm::DenseMap<mlir::Value, Rewrite> rewrites;
  llvm::DenseMap<mlir::Value, Loss> losses;
  llvm::DenseMap<mlir::Value, Note> notes;
  llvm::MapVector<mlir::Value, Moves> moves;
  llvm::DenseSet<mlir::Value> contractions, forReaders;
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<JoinedForm, 1>>
      joinedForms;
  llvm::DenseMap<mlir::Value, mlir::Operation *> standInOwners;
  /// Stand-ins are its arguments.
  mlir::Block standIns;
};

/// Whether it is a tensor with elements, as many as its type says.
bool hasElements(mlir::Type type);

/// More exceptions than that cost as much as what they replace.
inline constexpr size_t kMaxExceptions = 64;

/// The form's terms at other indices; its dimensions stay.
Form substitute(Terms &terms, const Form &form,
                const Substitution &substitution);
/// Whether a place of the form depends on one of these indices.
bool placesDependOn(const Form &form, TermRange indices);
/// L13: the exception's value, folded by what is known where it is there: its
/// places, for these dimensions, are in range.
Term valueWhereThere(Terms &terms, TermRange dims, const Exception &exception);
/// The form with the exception's first place out of range unless `condition`.
void restrictTo(Terms &terms, Exception &exception, Term condition);

} // namespace shoal::sparse

#endif // SHOAL_LIB_TRANSFORMS_SPARSE_FORMS_H
