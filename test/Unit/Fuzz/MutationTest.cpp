// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Fuzz/Mutation.h"
#include "llvm/ADT/StringExtras.h"
#include "gmock/gmock.h"
#include <set>

using namespace shoal::fuzz;
using testing::ElementsAre;

static constexpr llvm::StringLiteral kText =
    "func.func @f(%x: tensor<8x4xf32>) -> tensor<8x4xf32> {\n"
    "  %0 = shoal.reduce sum %x dims = [-1] {s = \"a b\"} // why\n"
    "  return %x : tensor<8x4xf32>\n}\n";

TEST(Tokenize, KeepsWordsNumbersAndStringsWhole) {
  EXPECT_THAT(tokenize("%0 = a.b @f -3 8x4xf32 \"a b\"->%x// c\n"),
              ElementsAre("%0", " =", " a.b", " @f", " -3", " 8x4xf32",
                          " \"a b\"", "->", "%x", "// c", "\n"));
}

TEST(Tokenize, LosesNothing) {
  EXPECT_EQ(llvm::join(tokenize(kText), ""), kText);
  EXPECT_EQ(llvm::join(tokenize("\"open"), ""), "\"open");
}

TEST(Corpus, MutationsDifferAndFollowTheirSeed) {
  Corpus corpus;
  corpus.addText(kText);
  std::set<std::string> mutants;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    Choices first(seed), second(seed);
    std::string text = corpus.mutate(first);
    EXPECT_EQ(corpus.mutate(second), text);
    mutants.insert(text);
  }
  EXPECT_GT(mutants.size(), 80u);
}

TEST(Corpus, PartsOfAFileAreTextsOfTheirOwn) {
  Corpus corpus;
  corpus.addText("one\n// -----\ntwo\n");
  for (uint64_t seed = 0; seed < 200; ++seed) {
    Choices choices(seed);
    std::string text = corpus.mutate(choices);
    EXPECT_EQ(text.find("-----"), std::string::npos);
  }
}
