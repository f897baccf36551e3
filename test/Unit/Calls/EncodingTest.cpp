// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Every call comes back from its words as it was written, all fields of it.

#include "shoal/Calls/AllCalls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace shoal::calls;
using testing::ElementsAre;

namespace {

/// Fills whatever a field is made of with numbers that differ.
class Filler {
public:
  template <typename T>
  void fill(T &value) {
    if constexpr (std::is_same_v<T, bool>) {
      value = !value;
    } else if constexpr (std::is_same_v<T, char>) {
      value = static_cast<char>('a' + next++ % 26);
    } else if constexpr (std::is_integral_v<T> || std::is_enum_v<T>) {
      value = static_cast<T>(100 + next++);
    } else if constexpr (isOptional<T>) {
      fill(value.emplace());
    } else if constexpr (isArray<T>) {
      for (auto &element : value)
        fill(element);
    } else if constexpr (isList<T>) {
      value.resize(1 + next++ % 3);
      for (auto &element : value)
        fill(element);
    } else {
      forEachField<T>([&](const auto &f) { fill(value.*f.member); });
    }
  }

private:
  int64_t next = 0;
};

template <typename Call>
void expectRoundTrip() {
  SCOPED_TRACE(Call::name);
  Call empty, full;
  Filler().fill(full);
  EXPECT_FALSE(empty == full);
  for (const Call &call : {empty, full}) {
    std::vector<int64_t> words = encode(call);
    const int64_t *end = words.data();
    EXPECT_TRUE(readWords<Call>(end) == call);
    EXPECT_EQ(end, words.data() + words.size()) << "words are left";
  }
}

template <typename... Calls>
void expectAll(std::tuple<Calls...>) {
  (expectRoundTrip<Calls>(), ...);
}

TEST(Encoding, all_calls_come_back) { expectAll(AllCalls()); }

/// Where a list of fields lacks one, the struct is larger than its fields are.
template <typename T>
constexpr size_t sizeOfFields() {
  size_t size = 0;
  forEachField<T>([&]<typename Type>(const Field<T, Type> &) {
    constexpr size_t align = alignof(Type);
    size = (size + align - 1) / align * align + sizeof(Type);
  });
  return (size + alignof(T) - 1) / alignof(T) * alignof(T);
}

template <typename T>
void expectAllListed() {
  if constexpr (isOptional<T> || isArray<T> || isList<T>) {
    expectAllListed<typename T::value_type>();
  } else if constexpr (std::is_class_v<T>) {
    EXPECT_EQ(sizeOfFields<T>(), sizeof(T)) << T::name;
    forEachField<T>([&]<typename Type>(const Field<T, Type> &) {
      expectAllListed<Type>();
    });
  }
}

template <typename... Calls>
void expectAllListedIn(std::tuple<Calls...>) {
  (expectAllListed<Calls>(), ...);
}

TEST(Encoding, lists_of_fields_are_complete) { expectAllListedIn(AllCalls()); }

/// The words that a compiled program has: one per number, lists with their
/// lengths.
TEST(Encoding, words) {
  EXPECT_THAT(encode(AllReduceCall{
                  5, ElementType::BF16, 1, Kind::Max, 24, {{0, 2, 4}}}),
              ElementsAre(5, 2, 1, 2, 24, 1, 0, 2, 4));
  EXPECT_THAT(
      encode(ScatterCall{
          ElementType::F32, ElementType::I32, Kind::Prod, true, false, {}}),
      ElementsAre(0, 5, 1, 1, 1, 0, 0, 0));
  EXPECT_THAT(
      encode(ScatterCall{
          ElementType::F32, ElementType::I32, std::nullopt, true, true, {}}),
      ElementsAre(0, 5, 0, 1, 1, 0, 0));
  EXPECT_THAT(encode(CustomCall{{}, {{ElementType::I8, {3}}}, "ab", ""}),
              ElementsAre(0, 1, 7, 1, 3, 2, 'a', 'b', 0));
}

} // namespace
