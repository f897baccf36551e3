// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Joins.h"
#include "Forms.h"
#include "OpWriter.h"
#include "shoal/Interfaces/PartitionInterfaces.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace shoal;
using namespace shoal::sparse;

/// A loop whose forms change in more rounds carries tensors.
static constexpr int kMaxRounds = 6;

namespace {

/// What sources of a join have in common: a form, without those places and
/// values on which they do not agree.
class CommonForm {
public:
  explicit CommonForm(Terms &terms) : terms(terms) {}

  /// False where there is no form of both. A number alone has any dimensions.
  bool add(const Form &other, llvm::function_ref<bool(Term)> isKnown);
  bool hasPlaces() const { return !form.dims.empty(); }
  bool operator==(const CommonForm &other) const;

  /// A place or the value of an exception that a source does not have: a place
  /// out of range.
  Term missing(unsigned t, unsigned item) const;

  /// With null for what is not common.
  Form form;
  /// Of the places and the value of each exception.
  SmallVector<SmallVector<Type, 4>> types;

private:
  void addMissing(const Exception &like,
                  llvm::function_ref<bool(Term)> isKnown);
  bool dependsOnPlaces(const Form &other) const;

  Terms &terms;
};

/// Assumes of the values of joins what the sources in front of the op have in
/// common. Regions may change that, and are then looked at anew.
class JoinAnalysis {
public:
  JoinAnalysis(JoinOpInterface op, Forms &forms)
      : op(op), forms(forms), terms(forms.terms), joins(op.getJoins()),
        common(joins.size()), isOpen(joins.size(), true) {}

  void run();

private:
  bool isInFront(const OpOperand *source) const {
    return source->getOwner() == op;
  }
  void analyzeRegions();
  void add(unsigned join, const OpOperand *source);
  void addAll(bool inFront);
  bool isKnownOutside(Term term) const;
  void assume(unsigned join, Value value);
  Value standIn(Value value, const CommonForm &known, unsigned t, unsigned item,
                TermRange dims);
  bool hasForm(unsigned join) const;
  void keep(unsigned join);

  JoinOpInterface op;
  Forms &forms;
  Terms &terms;
  SmallVector<Join> joins;
  std::vector<std::optional<CommonForm>> common;
  /// Whether the join may still have a form.
  SmallVector<bool> isOpen;
  llvm::DenseMap<std::tuple<Value, unsigned, unsigned>, Value> standIns;
};

} // namespace

void sparse::analyze(Block &block, Forms &forms) {
  for (Operation &op : block) {
    if (auto join = dyn_cast<JoinOpInterface>(op)) {
      JoinAnalysis(join, forms).run();
      continue;
    }
    forms.analyze(&op);
    for (Region &region : op.getRegions())
      for (Block &inner : region)
        analyze(inner, forms);
  }
}

//===----------------------------------------------------------------------===//
// What sources have in common
//===----------------------------------------------------------------------===//

/// The places of an exception, then its value.
static Term &itemOf(Exception &exception, size_t item) {
  return item < exception.places.size() ? exception.places[item]
                                        : exception.value;
}

static Term itemOf(const Exception &exception, size_t item) {
  return itemOf(const_cast<Exception &>(exception), item);
}

bool CommonForm::operator==(const CommonForm &other) const {
  auto isSame = [](const Exception &a, const Exception &b) {
    return a.places == b.places && a.value == b.value;
  };
  return form.dims == other.form.dims &&
         form.isDistinct == other.form.isDistinct &&
         llvm::equal(form.exceptions, other.form.exceptions, isSame);
}

Term CommonForm::missing(unsigned t, unsigned item) const {
  return item < form.dims.size() ? terms.integer(-1, types[t][item])
                                 : terms.number(form.background);
}

/// An exception that is nowhere has any value.
void CommonForm::addMissing(const Exception &like,
                            llvm::function_ref<bool(Term)> isKnown) {
  size_t t = form.exceptions.size();
  SmallVector<Type, 4> &own = types.emplace_back();
  Exception &none = form.exceptions.emplace_back();
  none.places.resize(form.dims.size());
  for (size_t item = 0; item <= form.dims.size(); ++item) {
    own.push_back(itemOf(like, item)->type);
    itemOf(none, item) = missing(t, item);
  }
  if (isKnown(like.value))
    none.value = like.value;
}

/// Then it is no tensor over the other dimensions.
bool CommonForm::dependsOnPlaces(const Form &other) const {
  return llvm::any_of(other.exceptions, [&](const Exception &exception) {
    return llvm::any_of(llvm::seq<size_t>(other.dims.size() + 1),
                        [&](size_t i) {
                          return llvm::any_of(other.dims, [&](Term dim) {
                            return itemOf(exception, i)->dependsOn(dim);
                          });
                        });
  });
}

bool CommonForm::add(const Form &other,
                     llvm::function_ref<bool(Term)> isKnown) {
  bool isFirst = !form.background;
  if (isFirst)
    form.background = other.background;
  if (form.background != other.background || dependsOnPlaces(other))
    return false;
  if (!hasPlaces())
    form.dims = other.dims;
  else if (!other.dims.empty() && form.dims != other.dims)
    return false;
  form.isDistinct &= other.isDistinct;
  while (form.exceptions.size() < other.exceptions.size())
    addMissing(other.exceptions[form.exceptions.size()], isKnown);
  for (size_t t = 0; t < form.exceptions.size(); ++t)
    for (size_t item = 0; item <= form.dims.size(); ++item) {
      Type type = types[t][item];
      bool isMissing = t >= other.exceptions.size();
      if (isMissing && item == form.dims.size())
        continue;
      Term term =
          isMissing ? missing(t, item) : itemOf(other.exceptions[t], item);
      if (term->type != type)
        return false;
      Term &own = itemOf(form.exceptions[t], item);
      if (isFirst)
        own = isKnown(term) ? term : nullptr;
      else if (own != term)
        own = nullptr;
    }
  return true;
}

//===----------------------------------------------------------------------===//
// The values of a join
//===----------------------------------------------------------------------===//

/// What a region of the op makes is not known in others. A term may be there
/// many times over: each is looked at once.
bool JoinAnalysis::isKnownOutside(Term term) const {
  llvm::SetVector<Term> terms;
  terms.insert(term);
  for (size_t next = 0; next < terms.size(); ++next) {
    Term each = terms[next];
    if (each->isElement()) {
      Operation *maker = forms.lookupStandInOwner(each->value);
      if (!maker)
        maker = Value(each->value).getParentBlock()->getParentOp();
      if (op->isAncestor(maker))
        return false;
    }
    terms.insert(each->operands.begin(), each->operands.end());
  }
  return true;
}

void JoinAnalysis::add(unsigned join, const OpOperand *source) {
  std::optional<Form> form;
  if (const Form *known = forms.lookup(source->get()))
    form = *known;
  else if (Term number = terms.definition(source->get());
           number && number->isNumber())
    form = Form{{}, {}, number->number};
  if (!form) {
    isOpen[join] = false;
    return;
  }
  if (!common[join])
    common[join].emplace(terms);
  isOpen[join] =
      common[join]->add(*form, [&](Term term) { return isKnownOutside(term); });
}

void JoinAnalysis::addAll(bool inFront) {
  for (auto [i, join] : llvm::enumerate(joins))
    for (OpOperand *source : join.sources)
      if (isOpen[i] && isInFront(source) == inFront)
        add(i, source);
}

/// The tensor of a place or a value, over the dimensions without places.
Value JoinAnalysis::standIn(Value value, const CommonForm &known, unsigned t,
                            unsigned item, TermRange dims) {
  Value &made = standIns[{value, t, item}];
  if (!made)
    made = forms.makeStandIn(
        RankedTensorType::get(sizesOf(dims), known.types[t][item]), op);
  return made;
}

static TermList denseDimsOf(Terms &terms, Value tensor, const Form &form) {
  TermList dims;
  for (Term dim : terms.indicesOf(tensor))
    if (!llvm::is_contained(form.dims, dim))
      dims.push_back(dim);
  return dims;
}

bool JoinAnalysis::hasForm(unsigned join) const {
  return isOpen[join] && common[join] && common[join]->hasPlaces();
}

void JoinAnalysis::assume(unsigned join, Value value) {
  const CommonForm &known = *common[join];
  Form form = known.form;
  TermList dims = denseDimsOf(terms, value, form);
  for (auto [t, exception] : llvm::enumerate(form.exceptions))
    for (size_t item = 0; item <= form.dims.size(); ++item)
      if (Term &term = itemOf(exception, item); !term)
        term = terms.opaqueElement(standIn(value, known, t, item, dims), dims);
  forms.assume(value, std::move(form));
}

void JoinAnalysis::analyzeRegions() {
  forms.forgetRegionsOf(op);
  for (auto [i, join] : llvm::enumerate(joins))
    for (Value value : join.values)
      if (isa<BlockArgument>(value) && hasForm(i))
        assume(i, value);
  for (Region &region : op->getRegions())
    for (Block &block : region)
      analyze(block, forms);
}

/// The results have what is common to all; what is not is carried.
void JoinAnalysis::keep(unsigned i) {
  const Join &join = joins[i];
  const CommonForm &known = *common[i];
  for (Value value : join.values)
    if (isa<OpResult>(value))
      assume(i, value);
  JoinedForm joined{i, {}};
  TermList dims = denseDimsOf(terms, join.values.front(), known.form);
  for (auto [t, exception] : llvm::enumerate(known.form.exceptions))
    for (size_t item = 0; item <= known.form.dims.size(); ++item) {
      if (itemOf(exception, item))
        continue;
      CarriedTerm carried{{}, {}, dims};
      for (OpOperand *source : join.sources) {
        const Form *form = forms.lookup(source->get());
        carried.sources.push_back(form && t < form->exceptions.size()
                                      ? itemOf(form->exceptions[t], item)
                                      : known.missing(t, item));
      }
      for (Value value : join.values)
        carried.standIns.push_back(standIn(value, known, t, item, dims));
      joined.carried.push_back(std::move(carried));
    }
  forms.keepJoined(op, std::move(joined));
}

void JoinAnalysis::run() {
  for (auto [i, join] : llvm::enumerate(joins))
    isOpen[i] = hasElements(join.values.front().getType());
  addAll(/*inFront=*/true);
  for (int round = 1;; ++round) {
    analyzeRegions();
    SmallVector<bool> assumed;
    for (unsigned i = 0; i < joins.size(); ++i)
      assumed.push_back(hasForm(i));
    auto before = common;
    addAll(/*inFront=*/false);
    bool isStable = true;
    for (auto [i, join] : llvm::enumerate(joins)) {
      bool takesPart = llvm::any_of(
          join.values, [](Value value) { return isa<BlockArgument>(value); });
      bool isSame =
          assumed[i] == hasForm(i) && (!assumed[i] || *before[i] == *common[i]);
      if (!takesPart || isSame)
        continue;
      isStable = false;
      if (round >= kMaxRounds)
        isOpen[i] = false;
    }
    if (isStable)
      break;
  }
  for (auto [i, join] : llvm::enumerate(joins)) {
    if (hasForm(i))
      keep(i);
    else
      for (Value value : join.values)
        for (OpOperand *source : join.sources)
          forms.lose(value, source->get(), op);
  }
}
