// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Support/PrintFormat.h"
#include "shoal/Support/SmallFloat.h"

#include <charconv>
#include <cmath>
#include <cstring>

namespace shoal::support {

//===----------------------------------------------------------------------===//
// Parsing
//===----------------------------------------------------------------------===//

static Error malformed(std::string_view field, const char *why) {
  return {"format field {" + std::string(field) + "}: " + why};
}

static bool isAlign(char c) {
  return c == '<' || c == '>' || c == '^' || c == '=';
}

/// Takes a number from the front of `text`, if one is there.
static bool takeNumber(std::string_view &text, int &number) {
  auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number > 4096)
    return false;
  text.remove_prefix(end - text.data());
  return true;
}

static bool takeOneOf(std::string_view &text, std::string_view letters,
                      char &letter) {
  if (text.empty() || letters.find(text[0]) == std::string_view::npos)
    return false;
  letter = text[0];
  text.remove_prefix(1);
  return true;
}

static Result<FormatSpec> parseSpec(std::string_view field,
                                    std::string_view text) {
  FormatSpec spec;
  if (text.size() > 1 && isAlign(text[1])) {
    spec.fill = text[0];
    text.remove_prefix(1);
  }
  takeOneOf(text, "<>^=", spec.align);
  takeOneOf(text, "+- ", spec.sign);
  char zero = '\0';
  if (takeOneOf(text, "0", zero) && !spec.align) {
    spec.fill = '0';
    spec.align = '=';
  }
  if (!text.empty() && std::isdigit(text[0]) && !takeNumber(text, spec.width))
    return malformed(field, "the width is more than 4096");
  if (!text.empty() && text[0] == '.') {
    text.remove_prefix(1);
    if (text.empty() || !std::isdigit(text[0]) ||
        !takeNumber(text, spec.precision))
      return malformed(field, "expected a precision of up to 4096 behind '.'");
  }
  takeOneOf(text, "dboxXeEfFgG%", spec.type);
  if (!text.empty())
    return malformed(field, "expected [[fill]align][sign][0][width]"
                            "[.precision][type] with a type of d, b, o, x, X, "
                            "e, E, f, F, g, G or %");
  return spec;
}

static Result<FormatPiece> parseField(std::string text,
                                      std::string_view field) {
  FormatPiece piece{std::move(text), -1, {}};
  size_t colon = field.find(':');
  std::string_view number = field.substr(0, colon);
  auto [end, error] = std::from_chars(
      number.data(), number.data() + number.size(), piece.operand);
  if (error != std::errc() || end != number.data() + number.size() ||
      piece.operand < 0)
    return malformed(field, "expected the number of an operand");
  if (colon == std::string_view::npos)
    return piece;
  Result<FormatSpec> spec = parseSpec(field, field.substr(colon + 1));
  if (!spec)
    return spec.error();
  piece.spec = *spec;
  return piece;
}

Result<std::vector<FormatPiece>> parseFormat(std::string_view format) {
  std::vector<FormatPiece> pieces;
  std::string text;
  for (size_t i = 0; i < format.size(); ++i) {
    char c = format[i];
    if (c != '{' && c != '}') {
      text += c;
      continue;
    }
    if (i + 1 < format.size() && format[i + 1] == c) {
      text += c;
      ++i;
      continue;
    }
    size_t end = format.find('}', i);
    if (c == '}' || end == std::string_view::npos)
      return Error{"format: a single '" + std::string(1, c) + "'"};
    Result<FormatPiece> piece =
        parseField(std::move(text), format.substr(i + 1, end - i - 1));
    if (!piece)
      return piece.error();
    pieces.push_back(*piece);
    text.clear();
    i = end;
  }
  pieces.push_back({text, -1, {}});
  return pieces;
}

Status checkField(const FormatPiece &piece, ElementType type, size_t rank) {
  const FormatSpec &spec = piece.spec;
  std::string field = std::to_string(piece.operand);
  if (spec == FormatSpec())
    return std::nullopt;
  if (rank != 0)
    return malformed(field, "only a scalar is written in a form of its own");
  bool isInteger = std::strchr("dboxX", spec.type) != nullptr && spec.type;
  if (isFloat(type) && isInteger)
    return malformed(field, "a float is not written as an integer");
  if (isFloat(type) && !spec.type && spec.precision >= 0)
    return malformed(field, "a precision needs a type, as in .3g or .3f");
  if (!isFloat(type) && (isInteger || !spec.type) && spec.precision >= 0)
    return malformed(field, "an integer has no precision");
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

template <typename T>
static T load(const PrintOperand &array, int64_t index) {
  T value;
  std::memcpy(&value, static_cast<const T *>(array.data) + index, sizeof(T));
  return value;
}

double floatAt(const PrintOperand &array, int64_t index) {
  switch (array.type) {
  case ElementType::F64:
    return load<double>(array, index);
  case ElementType::BF16:
    return toFloat(load<BFloat16>(array, index));
  case ElementType::F16:
    return toFloat(load<Float16>(array, index));
  case ElementType::F8E4M3FN:
    return toFloat(load<Float8E4M3FN>(array, index));
  case ElementType::F8E5M2:
    return toFloat(load<Float8E5M2>(array, index));
  default:
    return load<float>(array, index);
  }
}

template <typename T>
static int64_t loadInteger(const PrintOperand &array, int64_t index) {
  auto value = load<T>(array, index);
  if (array.isUnsigned)
    return static_cast<int64_t>(static_cast<std::make_unsigned_t<T>>(value));
  return value;
}

static int64_t loadInteger(const PrintOperand &array, int64_t index) {
  switch (array.type) {
  case ElementType::I64:
    return loadInteger<int64_t>(array, index);
  case ElementType::I32:
    return loadInteger<int32_t>(array, index);
  case ElementType::I16:
    return loadInteger<int16_t>(array, index);
  case ElementType::I8:
    return loadInteger<int8_t>(array, index);
  default:
    return load<uint8_t>(array, index) != 0;
  }
}

/// The sign, and the magnitude.
static std::pair<bool, uint64_t> magnitudeAt(const PrintOperand &array,
                                             int64_t index) {
  int64_t value = loadInteger(array, index);
  bool isNegative = value < 0 && !array.isUnsigned;
  auto bits = static_cast<uint64_t>(value);
  return {isNegative, isNegative ? 0 - bits : bits};
}

std::string integerAt(const PrintOperand &array, int64_t index) {
  auto [isNegative, magnitude] = magnitudeAt(array, index);
  return (isNegative ? "-" : "") + std::to_string(magnitude);
}

std::string floatText(double value) {
  if (std::isnan(value))
    return "nan";
  if (std::isinf(value))
    return value < 0 ? "-inf" : "inf";
  char buffer[400];
  auto write = [&](std::chars_format form) {
    auto [end, error] =
        std::to_chars(buffer, buffer + sizeof(buffer), value, form);
    return std::string(buffer, end);
  };
  std::string text = write(std::chars_format::scientific);
  int exponent = std::atoi(text.c_str() + text.find('e') + 1);
  if (exponent < -4 || exponent >= 16)
    return text;
  text = write(std::chars_format::fixed);
  return text.find('.') == std::string::npos ? text + ".0" : text;
}

//===----------------------------------------------------------------------===//
// Scalars
//===----------------------------------------------------------------------===//

/// The magnitude of a number as by e, f, g or %.
static std::string floatDigits(double magnitude, const FormatSpec &spec) {
  if (!spec.type)
    return floatText(magnitude);
  bool isUpper = std::isupper(spec.type);
  if (!std::isfinite(magnitude)) {
    const char *name = std::isnan(magnitude) ? (isUpper ? "NAN" : "nan")
                                             : (isUpper ? "INF" : "inf");
    return spec.type == '%' ? name + std::string("%") : name;
  }
  bool isPercent = spec.type == '%';
  char form[] = {'%', '.', '*', isPercent ? 'f' : spec.type, '\0'};
  int precision = spec.precision < 0 ? 6 : spec.precision;
  double value = isPercent ? magnitude * 100 : magnitude;
  std::string text(std::snprintf(nullptr, 0, form, precision, value), '\0');
  std::snprintf(text.data(), text.size() + 1, form, precision, value);
  return isPercent ? text + "%" : text;
}

static std::string integerDigits(uint64_t magnitude, char type) {
  int base = type == 'b'                  ? 2
             : type == 'o'                ? 8
             : type == 'x' || type == 'X' ? 16
                                          : 10;
  char buffer[65];
  auto [end, error] =
      std::to_chars(buffer, buffer + sizeof(buffer), magnitude, base);
  std::string text(buffer, end);
  if (type == 'X')
    for (char &c : text)
      c = static_cast<char>(std::toupper(c));
  return text;
}

/// The sign and the digits, brought to their width.
static std::string pad(bool isNegative, const std::string &digits,
                       const FormatSpec &spec) {
  std::string sign = isNegative         ? "-"
                     : spec.sign == '-' ? ""
                                        : std::string(1, spec.sign);
  int missing = spec.width - static_cast<int>(sign.size() + digits.size());
  if (missing <= 0)
    return sign + digits;
  auto fill = [&](int count) { return std::string(count, spec.fill); };
  switch (spec.align) {
  case '<':
    return sign + digits + fill(missing);
  case '^':
    return fill(missing / 2) + sign + digits + fill(missing - missing / 2);
  case '=':
    return sign + fill(missing) + digits;
  default:
    return fill(missing) + sign + digits;
  }
}

static std::string scalarText(const PrintOperand &scalar,
                              const FormatSpec &spec) {
  if (scalar.type == ElementType::I1 && spec == FormatSpec())
    return loadInteger(scalar, 0) ? "True" : "False";
  if (isFloat(scalar.type)) {
    double value = floatAt(scalar, 0);
    bool isNegative = std::signbit(value) && !std::isnan(value);
    return pad(isNegative, floatDigits(std::abs(value), spec), spec);
  }
  auto [isNegative, magnitude] = magnitudeAt(scalar, 0);
  if (spec.type && std::strchr("eEfFgG%", spec.type))
    return pad(isNegative, floatDigits(static_cast<double>(magnitude), spec),
               spec);
  return pad(isNegative, integerDigits(magnitude, spec.type), spec);
}

std::string printText(std::span<const FormatPiece> pieces,
                      std::span<const PrintOperand> operands) {
  std::string text;
  for (const FormatPiece &piece : pieces) {
    text += piece.text;
    if (piece.operand < 0)
      continue;
    const PrintOperand &operand = operands[piece.operand];
    text += operand.shape.empty() ? scalarText(operand, piece.spec)
                                  : arrayText(operand);
  }
  return text;
}

} // namespace shoal::support
