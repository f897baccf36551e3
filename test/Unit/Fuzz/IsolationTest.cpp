// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Fuzz/Isolation.h"
#include "shoal/Fuzz/Check.h"
#include "gmock/gmock.h"
#include <csignal>
#include <map>
#include <unistd.h>

using namespace shoal::fuzz;
using testing::HasSubstr;

static std::map<uint64_t, Outcome>
outcomesOf(uint64_t end, const IsolationOptions &options,
           llvm::function_ref<std::string(uint64_t, Observer)> work) {
  std::map<uint64_t, Outcome> outcomes;
  runIsolated(0, end, options, work, [&](const Outcome &outcome) {
    outcomes[outcome.item] = outcome;
    return true;
  });
  return outcomes;
}

TEST(Isolation, ReturnsWhatEachItemReturns) {
  auto outcomes =
      outcomesOf(10, {/*jobs=*/2, /*batch=*/3, 60},
                 [](uint64_t i, Observer) { return std::to_string(i * i); });
  ASSERT_EQ(outcomes.size(), 10u);
  for (auto &[item, outcome] : outcomes) {
    EXPECT_TRUE(outcome.isFinished);
    EXPECT_EQ(outcome.text, std::to_string(item * item));
  }
}

TEST(Isolation, ACrashIsAResultAndTheOthersGoOn) {
  auto outcomes = outcomesOf(6, {1, 6, 60}, [](uint64_t i, Observer observe) {
    observe("stage " + std::to_string(i));
    if (i == 3) {
      fprintf(stderr, "x.cpp:1: Assertion `two' failed.\n");
      raise(SIGABRT);
    }
    return std::string("well");
  });
  ASSERT_EQ(outcomes.size(), 6u);
  EXPECT_FALSE(outcomes[3].isFinished);
  EXPECT_EQ(outcomes[3].stage, "stage 3");
  EXPECT_THAT(outcomes[3].text, HasSubstr("Assertion `two' failed."));
  for (int i : {0, 1, 2, 4, 5})
    EXPECT_EQ(outcomes[i].text, "well");
}

TEST(Isolation, AHangIsAResult) {
  auto outcomes = outcomesOf(2, {1, 2, /*secondsPerItem=*/1},
                             [](uint64_t i, Observer) -> std::string {
                               while (i == 0)
                                 sleep(1);
                               return "well";
                             });
  EXPECT_FALSE(outcomes[0].isFinished);
  EXPECT_EQ(outcomes[0].text, "hang");
  EXPECT_EQ(outcomes[1].text, "well");
}

TEST(Isolation, StopsWhenToldTo) {
  unsigned seen = 0;
  runIsolated(
      0, 1000, {1, 10, 60}, [](uint64_t, Observer) { return std::string(); },
      [&](const Outcome &) { return ++seen < 5; });
  EXPECT_LT(seen, 100u);
}

TEST(Finding, SignaturesForgetWhatDiffersBetweenPrograms) {
  Finding a{"shoal-localize", "'arith.addf' op dim 3 of \"x\"\nmore"};
  Finding b{"shoal-localize", "'arith.addf' op dim 12 of \"expert\""};
  EXPECT_EQ(a.signature(), b.signature());
  Finding c{"verify", a.message};
  EXPECT_NE(a.signature(), c.signature());
}
