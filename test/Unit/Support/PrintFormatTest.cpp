// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Support/PrintFormat.h"
#include "gtest/gtest.h"

#include <cmath>

using namespace shoal::support;

namespace {
template <typename T>
std::string print(const std::string &format, ElementType type,
                  std::vector<T> elements, std::vector<int64_t> shape = {},
                  bool isUnsigned = false) {
  Result<std::vector<FormatPiece>> pieces = parseFormat(format);
  if (!pieces)
    return pieces.error().message;
  PrintOperand operand{type, isUnsigned, shape, elements.data()};
  for (const FormatPiece &piece : *pieces)
    if (piece.operand >= 0)
      if (Status failed = checkField(piece, type, shape.size()))
        return failed->message;
  return printText(*pieces, {&operand, 1});
}

std::string f32(const std::string &format, float value) {
  return print<float>(format, ElementType::F32, {value});
}
std::string i32(const std::string &format, int32_t value) {
  return print<int32_t>(format, ElementType::I32, {value});
}
std::string array(std::vector<float> elements, std::vector<int64_t> shape) {
  return print("{0}", ElementType::F32, std::move(elements), std::move(shape));
}
} // namespace

// What Python 3 prints for the same format and value.
TEST(PrintFormat, Scalars) {
  EXPECT_EQ(f32("{0}", 0.1f), "0.10000000149011612");
  EXPECT_EQ(f32("a {{{0}}}", 2), "a {2.0}");
  EXPECT_EQ(f32("{0}", 1e20f), "1.0000000200408773e+20");
  EXPECT_EQ(f32("{0:.3f}|{0:10.2e}|{0:<8g}|{0:+.1%}", 1.5f),
            "1.500|  1.50e+00|1.5     |+150.0%");
  EXPECT_EQ(f32("{0:08.2f}", -1.5f), "-0001.50");
  EXPECT_EQ(f32("{0:G} {0:08.2f}", INFINITY), "INF 00000inf");
  EXPECT_EQ(f32("{0}", -0.0f), "-0.0");
  EXPECT_EQ(i32("{0} {0:5d} {0:x} {0:*^7} {0:.1f}", -42),
            "-42   -42 -2a **-42** -42.0");
  EXPECT_EQ(print<int32_t>("{0}", ElementType::I32, {-1}, {}, true),
            "4294967295");
  EXPECT_EQ(print<uint8_t>("{0} {0:d}", ElementType::I1, {1}), "True 1");
  EXPECT_EQ(print<uint16_t>("{0}", ElementType::BF16, {0x3f8d}), "1.1015625");
}

// What NumPy 2 prints.
TEST(PrintFormat, Arrays) {
  EXPECT_EQ(array({1, 2.5f, -3}, {3}), "[ 1.   2.5 -3. ]");
  EXPECT_EQ(array({0.1f, NAN, -INFINITY, 2}, {2, 2}),
            "[[ 0.1  nan]\n [-inf  2. ]]");
  EXPECT_EQ(array({1e-7f, 1234.5f}, {2}), "[1.0000e-07 1.2345e+03]");
  EXPECT_EQ(array({}, {0, 3}), "[]");
  EXPECT_EQ(array({1, 2}, {1, 2, 1}), "[[[1.]\n  [2.]]]");
  EXPECT_EQ(print<int32_t>("{0}", ElementType::I32, {1, -20, 300}, {3}),
            "[  1 -20 300]");
  EXPECT_EQ(print<uint8_t>("{0}", ElementType::I1, {1, 0}, {2}),
            "[ True False]");
  EXPECT_EQ(print<uint16_t>("{0}", ElementType::BF16, {0x3f8d, 0x4000}, {2}),
            "[1.10156 2]");
}

TEST(PrintFormat, LongArraysAreCut) {
  std::vector<float> ones(1001, 1);
  EXPECT_EQ(array(ones, {1001}), "[1. 1. 1. ... 1. 1. 1.]");
  EXPECT_EQ(
      array(std::vector<float>(2002, 1), {1001, 2}),
      "[[1. 1.]\n [1. 1.]\n [1. 1.]\n ...\n [1. 1.]\n [1. 1.]\n [1. 1.]]");
  std::vector<int32_t> wide(40, 1000000);
  std::string text = print("{0}", ElementType::I32, wide, {40});
  EXPECT_EQ(text.find('\n'), 72u); // nine to a line of 75 characters
}

TEST(PrintFormat, Errors) {
  EXPECT_EQ(f32("{", 0), "format: a single '{'");
  EXPECT_EQ(f32("{a}", 0),
            "format field {a}: expected the number of an operand");
  EXPECT_EQ(f32("{0:.3}", 0),
            "format field {0}: a precision needs a type, as in .3g or .3f");
  EXPECT_EQ(i32("{0:.3d}", 0), "format field {0}: an integer has no precision");
}
