// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The laws of forms (docs/internals/Sparse.md) that say how lists of exceptions
// combine, on random small ones whose places and values are numbers: terms of
// numbers fold, so that each element can be looked at.

#include "Transforms/Sparse/Forms.h"
#include "gtest/gtest.h"
#include <random>
#include <set>

using namespace mlir;
using namespace shoal;
using namespace shoal::sparse;

namespace {

constexpr int64_t kSize = 4;
constexpr int kRounds = 200;

struct FormLaws : testing::Test {
  FormLaws() : terms((context.loadDialect<arith::ArithDialect>(), &context)) {
    for (int i = 0; i < 2; ++i)
      dims.push_back(terms.index(i, kSize));
  }

  int draw(int least, int most) {
    return std::uniform_int_distribution<int>(least, most)(random);
  }

  /// Over these dimensions; places may be out of range, and meet.
  Form drawForm(TermRange over) {
    Form form;
    form.dims = TermList(over);
    form.background = cast<TypedAttr>(terms.integer(0)->number);
    form.isDistinct = false;
    for (int n = draw(0, 3); n > 0; --n) {
      Exception exception{{}, terms.integer(draw(-3, 3))};
      for (size_t d = 0; d < over.size(); ++d)
        exception.places.push_back(terms.integer(draw(-1, kSize)));
      form.exceptions.push_back(std::move(exception));
    }
    return form;
  }

  int64_t numberOf(Term term) {
    EXPECT_TRUE(term->isNumber());
    return cast<IntegerAttr>(term->number).getInt();
  }

  int64_t at(const Form &form, int64_t i, int64_t j) {
    Substitution index = {{dims[0], terms.integer(i)},
                          {dims[1], terms.integer(j)}};
    return numberOf(forms.sample(form, index));
  }

  /// Of exceptions that are there no two are in one place.
  bool isDistinct(const Form &form) {
    std::set<std::vector<int64_t>> seen;
    for (const Exception &exception : form.exceptions) {
      std::vector<int64_t> places;
      bool isThere = true;
      for (Term place : exception.places) {
        places.push_back(numberOf(place));
        isThere &= places.back() >= 0 && places.back() < kSize;
      }
      if (isThere && !seen.insert(places).second)
        return false;
    }
    return true;
  }

  template <typename Fn>
  void forAll(Fn check) {
    for (int64_t i = 0; i < kSize; ++i)
      for (int64_t j = 0; j < kSize; ++j)
        check(i, j);
  }

  MLIRContext context;
  Terms terms;
  Forms forms{terms, /*minGain=*/0};
  TermList dims;
  std::mt19937 random{7};
};

TEST_F(FormLaws, AnElementIsTheSumOfTheExceptionsThere) {
  for (int round = 0; round < kRounds; ++round) {
    Form form = drawForm(dims);
    forAll([&](int64_t i, int64_t j) {
      int64_t expected = 0;
      for (const Exception &exception : form.exceptions)
        if (numberOf(exception.places[0]) == i &&
            numberOf(exception.places[1]) == j)
          expected += numberOf(exception.value);
      ASSERT_EQ(at(form, i, j), expected);
    });
  }
}

TEST_F(FormLaws, L3UnitedPlacesAreThoseOfAllEachOnce) {
  for (int round = 0; round < kRounds; ++round) {
    Form a = *forms.group(drawForm(dims)).form,
         b = *forms.group(drawForm(dims)).form;
    for (Form *form : {&a, &b})
      for (Exception &exception : form->exceptions)
        exception.value = terms.integer(1);
    Outcome both = forms.unite({&a, &b});
    ASSERT_TRUE(both.form);
    EXPECT_TRUE(isDistinct(*both.form));
    forAll([&](int64_t i, int64_t j) {
      ASSERT_EQ(at(*both.form, i, j), at(a, i, j) | at(b, i, j));
    });
  }
}

TEST_F(FormLaws, L5ConjoinedElementsAreProducts) {
  auto multiply = [&](Term a, Term b) {
    return terms.op<arith::MulIOp>(a->type, {a, b});
  };
  SmallVector<TermList> lists = {{dims[0]}, {dims[1]}, dims};
  for (int round = 0; round < kRounds; ++round) {
    Form a = drawForm(lists[draw(0, 2)]), b = drawForm(lists[draw(0, 2)]);
    Outcome product = forms.conjoin(a, b, multiply);
    ASSERT_TRUE(product.form);
    forAll([&](int64_t i, int64_t j) {
      ASSERT_EQ(at(*product.form, i, j), at(a, i, j) * at(b, i, j));
    });
  }
}

TEST_F(FormLaws, L5PairsThatDisagreeHaveNoPlace) {
  auto first = [](Term a, Term) { return a; };
  for (int round = 0; round < kRounds; ++round) {
    Form a = *forms.group(drawForm(dims)).form,
         b = *forms.group(drawForm(dims)).form;
    Outcome both = forms.conjoin(a, b, first);
    ASSERT_TRUE(both.form);
    EXPECT_TRUE(both.form->isDistinct);
    EXPECT_TRUE(isDistinct(*both.form));
  }
}

TEST_F(FormLaws, L5NeitherMayDependOnTheOthersPlaces) {
  Form a = drawForm({dims[0]}), b = drawForm({dims[1]});
  a.exceptions = {{{dims[1]}, terms.integer(1)}};
  b.exceptions = {{{dims[0]}, terms.integer(1)}};
  auto first = [](Term a, Term) { return a; };
  EXPECT_EQ(forms.conjoin(a, b, first).reason,
            "the places of each operand depend on the other's");
}

TEST_F(FormLaws, L8GroupedExceptionsHaveTheSumsInOnePlaceEach) {
  for (int round = 0; round < kRounds; ++round) {
    Form form = drawForm(dims), grouped = *forms.group(form).form;
    EXPECT_TRUE(grouped.isDistinct);
    EXPECT_TRUE(isDistinct(grouped));
    forAll([&](int64_t i, int64_t j) {
      ASSERT_EQ(at(grouped, i, j), at(form, i, j));
    });
  }
}

TEST_F(FormLaws, ListsOfMoreThan64ExceptionsAreGivenUp) {
  Form a = drawForm({dims[0]}), b = drawForm({dims[1]});
  a.exceptions.assign(8, {{terms.integer(1)}, terms.integer(1)});
  b.exceptions.assign(9, {{terms.integer(1)}, terms.integer(1)});
  auto first = [](Term a, Term) { return a; };
  EXPECT_EQ(forms.conjoin(a, b, first).reason, "more than 64 exceptions");
}

TEST_F(FormLaws, ARestrictedExceptionIsNotThere) {
  Exception exception{{terms.integer(2)}, terms.integer(5)};
  restrictTo(terms, exception, terms.boolean(true));
  EXPECT_EQ(numberOf(exception.places[0]), 2);
  restrictTo(terms, exception, terms.boolean(false));
  EXPECT_EQ(numberOf(exception.places[0]), -1);
}

TEST_F(FormLaws, L1EqualTermsAreOne) {
  Term i = dims[0];
  EXPECT_EQ(terms.add(i, terms.integer(3)), terms.add(i, terms.integer(3)));
  EXPECT_EQ(terms.equal(i, i), terms.boolean(true));
  // Indices are in range, whatever they are.
  EXPECT_EQ(terms.isInRange(i, kSize), terms.boolean(true));
  EXPECT_EQ(terms.equal(i, terms.integer(kSize)), terms.boolean(false));
  EXPECT_TRUE(terms.areNeverEqual(i, terms.integer(-1)));
  EXPECT_FALSE(terms.areNeverEqual(i, terms.integer(1)));
}

TEST_F(FormLaws, L13TermsThatShareOperandsAreLookedAtOnce) {
  Term value = dims[0];
  for (int i = 0; i < 100; ++i)
    value = terms.add(value, value);
  Exception exception{{terms.integer(1)}, value};
  EXPECT_EQ(valueWhereThere(terms, {dims[1]}, exception), value);
}

} // namespace
