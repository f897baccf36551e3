// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a program prints, character by character as Python prints it: the part
// of str.format that a program can do without Python.
//
//   "loss = {0:.3f} after {1} steps, {{x}} = {2}"
//
// A field is the number of an operand and, of a scalar, how it is written:
//
//   [[fill]align][sign][0][width][.precision][type]
//
// with the types d, b, o, x and X of integers and e, E, f, F, g, G and % of
// numbers. Without a type an integer is written as by d, a float as by repr of
// the double that it is, a bool as True or False. A tensor of rank 1 or more is
// written as str of NumPy's array, with its default options.

#ifndef SHOAL_SUPPORT_PRINTFORMAT_H
#define SHOAL_SUPPORT_PRINTFORMAT_H

#include "shoal/Support/ElementType.h"
#include "shoal/Support/Result.h"

#include <vector>

namespace shoal::support {

/// How a scalar is written; default values stand for what is not said.
struct FormatSpec {
  char fill = ' ';
  char align = '\0';
  char sign = '-';
  int width = 0;
  int precision = -1;
  char type = '\0';

  bool operator==(const FormatSpec &) const = default;
};

/// Text, then a field, if any.
struct FormatPiece {
  std::string text;
  /// The operand's number; -1 without a field.
  int64_t operand = -1;
  FormatSpec spec;
};

/// What is printed: a dense row-major array.
struct PrintOperand {
  ElementType type;
  bool isUnsigned;
  std::span<const int64_t> shape;
  const void *data;
};

Result<std::vector<FormatPiece>> parseFormat(std::string_view format);

/// Why a value of this type and rank cannot be written so.
Status checkField(const FormatPiece &piece, ElementType type, size_t rank);

/// The text of operands that pass checkField.
std::string printText(std::span<const FormatPiece> pieces,
                      std::span<const PrintOperand> operands);

/// What str(array) is in NumPy.
std::string arrayText(const PrintOperand &array);

/// repr of a Python float.
std::string floatText(double value);

/// An element of a float type, and of an integer one.
double floatAt(const PrintOperand &array, int64_t index);
std::string integerAt(const PrintOperand &array, int64_t index);

} // namespace shoal::support

#endif // SHOAL_SUPPORT_PRINTFORMAT_H
