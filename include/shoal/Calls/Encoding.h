// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A runtime call's constant argument, its descriptor, as a struct whose fields
// are listed once. From the list come the writer, the reader and the reference
// page docs/reference/RuntimeCalls.md:
//
//   struct WaitCall {
//     static constexpr const char *name = "wait";
//     int64_t id = -1;
//     bool operator==(const WaitCall &) const = default;
//     static constexpr auto fields() {
//       return std::tuple{field("id", &WaitCall::id, "the collective's
//       number")};
//     }
//   };
//
// A descriptor is an array of int64_t, field by field: a number, a bool and an
// enum are one word; a list and a text are their length, then the elements; an
// array is its elements; an optional is 0, or 1 and the value; a struct is its
// fields. So a descriptor says where it ends, and none begins another one of
// its kind.

#ifndef SHOAL_CALLS_ENCODING_H
#define SHOAL_CALLS_ENCODING_H

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

namespace shoal::calls {

/// One field: its name, its place in the struct and what it says.
template <typename Struct, typename Type>
struct Field {
  const char *name;
  Type Struct::*member;
  const char *meaning;
};

template <typename Struct, typename Type>
constexpr Field<Struct, Type> field(const char *name, Type Struct::*member,
                                    const char *meaning) {
  return {name, member, meaning};
}

template <typename T>
inline constexpr bool isOptional = false;
template <typename T>
inline constexpr bool isOptional<std::optional<T>> = true;
template <typename T>
inline constexpr bool isArray = false;
template <typename T, size_t N>
inline constexpr bool isArray<std::array<T, N>> = true;
template <typename T>
inline constexpr bool isList = false;
template <typename T>
inline constexpr bool isList<std::vector<T>> = true;
template <>
inline constexpr bool isList<std::string> = true;

/// Calls visit(field) for each field of the struct, in order.
template <typename Struct, typename Visitor>
constexpr void forEachField(Visitor &&visit) {
  std::apply([&](const auto &...fields) { (visit(fields), ...); },
             Struct::fields());
}

/// Appends the value's words.
template <typename T>
void writeWords(std::vector<int64_t> &words, const T &value) {
  if constexpr (std::is_integral_v<T> || std::is_enum_v<T>) {
    words.push_back(static_cast<int64_t>(value));
  } else if constexpr (isOptional<T>) {
    words.push_back(value.has_value());
    if (value)
      writeWords(words, *value);
  } else if constexpr (isList<T> || isArray<T>) {
    if constexpr (isList<T>)
      words.push_back(static_cast<int64_t>(value.size()));
    for (const auto &element : value)
      writeWords(words, element);
  } else {
    forEachField<T>([&](const auto &f) { writeWords(words, value.*f.member); });
  }
}

/// Reads a value and moves the cursor behind it.
template <typename T>
T readWords(const int64_t *&cursor) {
  T value{};
  if constexpr (std::is_integral_v<T> || std::is_enum_v<T>) {
    value = static_cast<T>(*cursor++);
  } else if constexpr (isOptional<T>) {
    if (*cursor++ != 0)
      value = readWords<typename T::value_type>(cursor);
  } else if constexpr (isList<T> || isArray<T>) {
    if constexpr (isList<T>)
      value.resize(*cursor++);
    for (auto &element : value)
      element = readWords<typename T::value_type>(cursor);
  } else {
    forEachField<T>([&](const auto &f) {
      using Member = std::remove_reference_t<decltype(value.*f.member)>;
      value.*f.member = readWords<Member>(cursor);
    });
  }
  return value;
}

/// The descriptor of a call.
template <typename Call>
std::vector<int64_t> encode(const Call &call) {
  std::vector<int64_t> words;
  writeWords(words, call);
  return words;
}

/// The call that a descriptor describes.
template <typename Call>
Call decode(const int64_t *desc) {
  return readWords<Call>(desc);
}

} // namespace shoal::calls

#endif // SHOAL_CALLS_ENCODING_H
