// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Dialect/Shoal/IR/ContractionOps.h"
#include "gmock/gmock.h"

using namespace shoal;
using testing::ElementsAre;
using testing::IsEmpty;

static std::string errorOf(llvm::StringRef spec) {
  std::string error;
  EXPECT_FALSE(EinsumSpec::parse(spec, error).has_value());
  return error;
}

TEST(EinsumSpec, HasALetterPerDimension) {
  std::string error;
  std::optional<EinsumSpec> spec = EinsumSpec::parse("GSM,Me->GSe", error);
  ASSERT_TRUE(spec) << error;
  ASSERT_EQ(spec->inputs.size(), 2u);
  EXPECT_THAT(spec->inputs[0], ElementsAre('G', 'S', 'M'));
  EXPECT_THAT(spec->inputs[1], ElementsAre('M', 'e'));
  EXPECT_THAT(spec->result, ElementsAre('G', 'S', 'e'));
}

TEST(EinsumSpec, ScalarsHaveNoLetters) {
  std::string error;
  std::optional<EinsumSpec> spec = EinsumSpec::parse(",A->", error);
  ASSERT_TRUE(spec) << error;
  EXPECT_THAT(spec->inputs[0], IsEmpty());
  EXPECT_THAT(spec->inputs[1], ElementsAre('A'));
  EXPECT_THAT(spec->result, IsEmpty());
}

TEST(EinsumSpec, RefusesWhatIsNotASpec) {
  EXPECT_EQ(errorOf("AB"), "expected one \"->\" between operands and result");
  EXPECT_EQ(errorOf("A->A->A"),
            "expected one \"->\" between operands and result");
  EXPECT_EQ(errorOf("A.B->AB"), "expected letters in \"A.B\" but got '.'");
  EXPECT_EQ(errorOf("AB->A B"), "expected letters in \"A B\" but got ' '");
  EXPECT_EQ(errorOf("A->A,"), "expected letters in \"A,\" but got ','");
}
