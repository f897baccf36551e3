// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What folders do not say of arith: equations, and zeros of finite programs.

#include "../Forms.h"
#include "Models.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace shoal;
using namespace shoal::sparse;

// Models replace the interface's defaults.
// NOLINTBEGIN(bugprone-derived-method-shadowing-base-method)
namespace {

template <typename Model, typename Op>
using Elements = ElementOpInterface::ExternalModel<Model, Op>;

bool isZero(Term term) {
  if (!term->isNumber())
    return false;
  auto number = dyn_cast<FloatAttr>(term->number);
  return number && number.getValue().isZero();
}

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

struct CompareInt : Elements<CompareInt, arith::CmpIOp> {
  Outcome getForm(Operation *op, Forms &forms) const {
    auto predicate = cast<arith::CmpIOp>(op).getPredicate();
    if (predicate == arith::CmpIPredicate::eq ||
        predicate == arith::CmpIPredicate::ne)
      return forms.equality(op, predicate == arith::CmpIPredicate::ne);
    return {};
  }
};

struct CompareFloat : Elements<CompareFloat, arith::CmpFOp> {
  Outcome getForm(Operation *op, Forms &forms) const {
    auto predicate = cast<arith::CmpFOp>(op).getPredicate();
    if (predicate == arith::CmpFPredicate::OEQ ||
        predicate == arith::CmpFPredicate::UNE)
      return forms.equality(op, predicate == arith::CmpFPredicate::UNE);
    return {};
  }
};

/// x + c == t where x == t - c.
struct AddInt : Elements<AddInt, arith::AddIOp> {
  Term solve(Operation *, Terms &terms, TermRange operands, unsigned which,
             Term target) const {
    return terms.subtract(target, operands[1 - which]);
  }
};

struct SubtractInt : Elements<SubtractInt, arith::SubIOp> {
  Term solve(Operation *, Terms &terms, TermRange operands, unsigned which,
             Term target) const {
    return which == 0 ? terms.add(target, operands[1])
                      : terms.subtract(operands[0], target);
  }
};

/// An index in a wider type: numbers that are none become -1.
template <typename Op>
struct ExtendInt : Elements<ExtendInt<Op>, Op> {
  Term solve(Operation *, Terms &terms, TermRange operands, unsigned,
             Term target) const {
    Term index = operands[0];
    if (!index->isIndex())
      return nullptr;
    return terms.select(terms.isInRange(target, index->size),
                        terms.convert(target, index->type), terms.integer(-1));
  }
};

/// An index in a type that holds all of its values.
struct TruncateInt : Elements<TruncateInt, arith::TruncIOp> {
  Term solve(Operation *op, Terms &terms, TermRange operands, unsigned,
             Term target) const {
    unsigned width = op->getResult(0).getType().getIntOrFloatBitWidth();
    if (!operands[0]->isIndex() || operands[0]->size > int64_t(1) << width)
      return nullptr;
    return terms.op<arith::ExtUIOp>(operands[0]->type, {target});
  }
};

/// An index as a float, where each has a number of its own: the target's place
/// is -1 unless it is whole and in range.
template <typename Op>
struct IntToFloat : Elements<IntToFloat<Op>, Op> {
  Term solve(Operation *op, Terms &terms, TermRange operands, unsigned,
             Term target) const {
    Term index = operands[0];
    auto type = cast<FloatType>(op->getResult(0).getType());
    unsigned digits = APFloat::semanticsPrecision(type.getFloatSemantics());
    if (!index->isIndex() || index->size > int64_t(1) << digits)
      return nullptr;
    auto compare = [&](arith::CmpFPredicate predicate, Term a, Term b) {
      Builder builder(terms.getContext());
      auto attribute =
          arith::CmpFPredicateAttr::get(terms.getContext(), predicate);
      return terms.op<arith::CmpFOp>(
          builder.getI1Type(), {a, b},
          builder.getDictionaryAttr(
              {builder.getNamedAttr("predicate", attribute)}));
    };
    Term size = terms.number(FloatAttr::get(type, double(index->size)));
    Term isInRange = terms.conjunction(
        compare(arith::CmpFPredicate::OGE, target, terms.zero(type)),
        compare(arith::CmpFPredicate::OLT, target, size));
    // What is no place is not converted: it may not fit.
    Term safe = terms.select(isInRange, target, terms.zero(type));
    Term place = terms.op<arith::FPToSIOp>(index->type, {safe});
    Term isWhole = compare(arith::CmpFPredicate::OEQ,
                           terms.op<arith::SIToFPOp>(type, {place}), target);
    return terms.select(isWhole, place, terms.integer(-1));
  }
};

//===----------------------------------------------------------------------===//
// Zeros
//===----------------------------------------------------------------------===//

struct MultiplyFloat : Elements<MultiplyFloat, arith::MulFOp> {
  Term foldBackground(Operation *, Terms &, TermRange operands) const {
    return isZero(operands[0])   ? operands[0]
           : isZero(operands[1]) ? operands[1]
                                 : nullptr;
  }
};

struct DivideFloat : Elements<DivideFloat, arith::DivFOp> {
  Term foldBackground(Operation *, Terms &, TermRange operands) const {
    return isZero(operands[0]) && !isZero(operands[1]) ? operands[0] : nullptr;
  }
};

struct AddFloat : Elements<AddFloat, arith::AddFOp> {
  Term foldBackground(Operation *, Terms &, TermRange operands) const {
    return isZero(operands[0])   ? operands[1]
           : isZero(operands[1]) ? operands[0]
                                 : nullptr;
  }
};

struct SubtractFloat : Elements<SubtractFloat, arith::SubFOp> {
  Term foldBackground(Operation *, Terms &, TermRange operands) const {
    return isZero(operands[1]) ? operands[0] : nullptr;
  }
};

} // namespace
// NOLINTEND(bugprone-derived-method-shadowing-base-method)

void shoal::registerElementwiseElementModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, arith::ArithDialect *) {
    using namespace arith;
    CmpIOp::attachInterface<CompareInt>(*context);
    CmpFOp::attachInterface<CompareFloat>(*context);
    AddIOp::attachInterface<AddInt>(*context);
    SubIOp::attachInterface<SubtractInt>(*context);
    ExtSIOp::attachInterface<ExtendInt<ExtSIOp>>(*context);
    ExtUIOp::attachInterface<ExtendInt<ExtUIOp>>(*context);
    TruncIOp::attachInterface<TruncateInt>(*context);
    SIToFPOp::attachInterface<IntToFloat<SIToFPOp>>(*context);
    UIToFPOp::attachInterface<IntToFloat<UIToFPOp>>(*context);
    MulFOp::attachInterface<MultiplyFloat>(*context);
    DivFOp::attachInterface<DivideFloat>(*context);
    AddFOp::attachInterface<AddFloat>(*context);
    SubFOp::attachInterface<SubtractFloat>(*context);
  });
}
