// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// NumPy's str of an array (numpy/_core/arrayprint.py, version 2) with its
// default options: 8 digits, lines of 75 characters, three rows at each edge of
// what has more than 1000 elements.

#include "shoal/Support/PrintFormat.h"
#include "shoal/Support/SmallFloat.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

namespace shoal::support {

static constexpr int64_t kThreshold = 1000;
static constexpr int64_t kEdge = 3;
static constexpr size_t kLine = 75;
static constexpr size_t kPrecision = 8;

//===----------------------------------------------------------------------===//
// Digits
//===----------------------------------------------------------------------===//

namespace {

/// A finite magnitude: digits[0] . digits[1...] * 10^exponent.
struct Decimal {
  std::string digits;
  int exponent = 0;

  /// Of "1.25e+03".
  static Decimal parse(std::string_view text) {
    size_t e = text.find('e');
    Decimal decimal;
    for (char c : text.substr(0, e))
      if (c != '.')
        decimal.digits += c;
    decimal.exponent = std::atoi(std::string(text.substr(e + 1)).c_str());
    return decimal;
  }

  void trim() {
    while (digits.size() > 1 && digits.back() == '0')
      digits.pop_back();
  }

  std::string whole() const {
    if (exponent < 0)
      return "0";
    std::string text = digits.substr(0, exponent + 1);
    text.resize(exponent + 1, '0');
    return text;
  }

  std::string fraction() const {
    if (exponent < 0)
      return digits == "0" ? "" : std::string(-exponent - 1, '0') + digits;
    size_t begin = exponent + 1;
    return begin < digits.size() ? digits.substr(begin) : "";
  }
};

} // namespace

static std::string print(const char *form, size_t precision, double value) {
  std::string text(
      std::snprintf(nullptr, 0, form, static_cast<int>(precision), value),
      '\0');
  std::snprintf(text.data(), text.size() + 1, form, static_cast<int>(precision),
                value);
  return text;
}

/// The fewest digits that are this number and no other one of the type.
static Decimal shortest(ElementType type, double magnitude) {
  char buffer[64];
  std::to_chars_result end{};
  if (type == ElementType::F64) {
    end = std::to_chars(buffer, buffer + sizeof(buffer), magnitude,
                        std::chars_format::scientific);
  } else if (type == ElementType::F32) {
    end = std::to_chars(buffer, buffer + sizeof(buffer),
                        static_cast<float>(magnitude),
                        std::chars_format::scientific);
  } else {
    uint16_t bits = toFloat16(static_cast<float>(magnitude)).bits;
    for (size_t precision = 0;; ++precision) {
      std::string text = print("%.*e", precision, magnitude);
      if (toFloat16(std::strtof(text.c_str(), nullptr)).bits == bits)
        return Decimal::parse(text);
    }
  }
  return Decimal::parse(std::string_view(buffer, end.ptr));
}

/// `shortest`, rounded to kPrecision digits behind the point.
static Decimal scientific(ElementType type, double magnitude) {
  Decimal decimal = shortest(type, magnitude);
  if (decimal.digits.size() > kPrecision + 1)
    decimal = Decimal::parse(print("%.*e", kPrecision, magnitude));
  decimal.trim();
  return decimal;
}

/// The texts before and behind the point.
static std::pair<std::string, std::string> positional(ElementType type,
                                                      double magnitude) {
  Decimal decimal = shortest(type, magnitude);
  decimal.trim();
  std::string whole = decimal.whole(), fraction = decimal.fraction();
  if (fraction.size() > kPrecision) {
    std::string text = print("%.*f", kPrecision, magnitude);
    size_t point = text.find('.');
    whole = text.substr(0, point);
    fraction = text.substr(point + 1);
    while (!fraction.empty() && fraction.back() == '0')
      fraction.pop_back();
  }
  return {whole, fraction};
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

namespace {

/// Writes floats of one array alike, as `visible` ones need.
class FloatColumns {
public:
  FloatColumns(const PrintOperand &array, std::span<const int64_t> visible)
      : type(array.type) {
    std::vector<double> finite;
    bool hasOthers = false, hasMinusInfinity = false;
    for (int64_t index : visible) {
      double value = floatAt(array, index);
      if (std::isfinite(value))
        finite.push_back(value);
      else
        hasOthers = true;
      hasMinusInfinity |= std::isinf(value) && value < 0;
    }
    isScientific = needsExponent(finite);
    for (double value : finite)
      measure(value);
    if (hasOthers) {
      size_t offset = right + 1, infinity = hasMinusInfinity ? 4 : 3;
      for (size_t length : {size_t(3), infinity})
        if (length > offset)
          left = std::max(left, length - offset);
    }
  }

  std::string text(double value) const {
    if (!std::isfinite(value)) {
      std::string name = std::isnan(value) ? "nan" : value < 0 ? "-inf" : "inf";
      size_t width = left + right + 1;
      return std::string(width - std::min(width, name.size()), ' ') + name;
    }
    std::string sign = std::signbit(value) ? "-" : "";
    if (isScientific)
      return scientificText(sign, std::abs(value));
    auto [whole, fraction] = positional(type, std::abs(value));
    whole = sign + whole;
    return std::string(left - whole.size(), ' ') + whole + "." + fraction +
           std::string(right - fraction.size(), ' ');
  }

private:
  /// A number rounded to the elements' type, in which NumPy compares.
  double rounded(double value) const {
    if (type == ElementType::F32)
      return static_cast<float>(value);
    return type == ElementType::F16
               ? toFloat(toFloat16(static_cast<float>(value)))
               : value;
  }

  bool needsExponent(std::span<const double> finite) const {
    double most = 0, least = std::numeric_limits<double>::infinity();
    for (double value : finite)
      if (value != 0) {
        most = std::max(most, std::abs(value));
        least = std::min(least, std::abs(value));
      }
    if (most == 0)
      return false;
    double cutoff = type == ElementType::F64   ? 1e8
                    : type == ElementType::F32 ? 1e6
                                               : 1e3;
    return most >= cutoff || least < rounded(1e-4) ||
           rounded(most / least) > 1000;
  }

  void measure(double value) {
    size_t sign = std::signbit(value) ? 1 : 0;
    if (!isScientific) {
      auto [whole, fraction] = positional(type, std::abs(value));
      left = std::max(left, sign + whole.size());
      right = std::max(right, fraction.size());
      return;
    }
    Decimal decimal = scientific(type, std::abs(value));
    left = std::max(left, sign + 1);
    fractionDigits = std::max(fractionDigits, decimal.digits.size() - 1);
    exponentDigits =
        std::max(exponentDigits, exponentText(decimal.exponent).size());
    right = exponentDigits + 2 + fractionDigits;
  }

  static std::string exponentText(int exponent) {
    std::string text = std::to_string(std::abs(exponent));
    return text.size() < 2 ? "0" + text : text;
  }

  std::string scientificText(const std::string &sign, double magnitude) const {
    // All have as many digits, be they needed or not.
    Decimal decimal = Decimal::parse(print("%.*e", fractionDigits, magnitude));
    std::string fraction = decimal.digits.substr(1);
    std::string exponent = exponentText(decimal.exponent);
    std::string whole = sign + decimal.digits[0];
    return std::string(left - whole.size(), ' ') + whole + "." + fraction +
           "e" + (decimal.exponent < 0 ? "-" : "+") +
           std::string(exponentDigits - exponent.size(), '0') + exponent;
  }

  ElementType type;
  bool isScientific = false;
  size_t left = 0, right = 0, fractionDigits = 0, exponentDigits = 0;
};

/// Elements in the order of their places, and lines of them.
class ArrayWriter {
public:
  explicit ArrayWriter(const PrintOperand &array)
      : array(array), isShort(numElements(array.shape) > kThreshold) {
    collect(0, 0);
    if (usesColumns())
      columns.emplace(array, visible);
    else if (!isFloat(array.type))
      for (int64_t index : visible)
        width = std::max(width, plainText(index).size());
  }

  std::string write() { return writeFrom(0, 0, " ", kLine); }

private:
  /// Floats of NumPy's own; others are written one by one.
  bool usesColumns() const {
    return array.type == ElementType::F32 || array.type == ElementType::F64 ||
           array.type == ElementType::F16;
  }

  /// Calls visit(row, isBehindGap) for the rows of an axis that are shown.
  template <typename Visitor>
  void forEachRow(size_t axis, Visitor &&visit) const {
    int64_t rows = array.shape[axis];
    bool hasGap = isShort && rows > 2 * kEdge;
    for (int64_t row = 0; row < rows; ++row) {
      if (hasGap && row == kEdge)
        row = rows - kEdge;
      visit(row, hasGap && row == rows - kEdge);
    }
  }

  void collect(size_t axis, int64_t base) {
    if (axis == array.shape.size()) {
      visible.push_back(base);
      return;
    }
    forEachRow(axis, [&](int64_t row, bool) {
      collect(axis + 1, base * array.shape[axis] + row);
    });
  }

  std::string plainText(int64_t index) const {
    if (array.type == ElementType::I1)
      return integerAt(array, index) == "1" ? "True" : "False";
    if (!isFloat(array.type))
      return integerAt(array, index);
    double value = floatAt(array, index);
    return std::isnan(value) ? "nan" : print("%.*g", 6, value);
  }

  std::string elementText(int64_t index) const {
    if (columns)
      return columns->text(floatAt(array, index));
    std::string text = plainText(index);
    // " True" and "False", whatever is there.
    size_t least = array.type == ElementType::I1 ? 5 : width;
    return std::string(least - std::min(least, text.size()), ' ') + text;
  }

  std::string writeFrom(size_t axis, int64_t base, const std::string &indent,
                        size_t lineWidth) {
    size_t left = array.shape.size() - axis;
    if (left == 0)
      return elementText(base);
    std::string text = left == 1 ? writeLine(axis, base, indent, lineWidth)
                                 : writeRows(axis, base, indent, lineWidth);
    return "[" + text.substr(indent.size()) + "]";
  }

  /// Elements, wrapped where they would not fit on a line.
  std::string writeLine(size_t axis, int64_t base, const std::string &indent,
                        size_t lineWidth) {
    std::string text, line = indent;
    bool isFirst = true;
    auto extend = [&](const std::string &word) {
      if (!isFirst)
        line += ' ';
      isFirst = false;
      if (line.size() + word.size() > lineWidth - 1 &&
          line.size() > indent.size()) {
        while (!line.empty() && line.back() == ' ')
          line.pop_back();
        text += line + "\n";
        line = indent;
      }
      line += word;
    };
    forEachRow(axis, [&](int64_t row, bool isBehindGap) {
      if (isBehindGap)
        extend("...");
      extend(elementText(base * array.shape[axis] + row));
    });
    return text + line;
  }

  std::string writeRows(size_t axis, int64_t base, const std::string &indent,
                        size_t lineWidth) {
    std::string text;
    std::string separator(array.shape.size() - axis - 1, '\n');
    forEachRow(axis, [&](int64_t row, bool isBehindGap) {
      if (!text.empty())
        text += separator;
      if (isBehindGap)
        text += indent + "..." + separator;
      text += indent + writeFrom(axis + 1, base * array.shape[axis] + row,
                                 indent + " ", lineWidth - 1);
    });
    return text;
  }

  const PrintOperand &array;
  bool isShort;
  std::vector<int64_t> visible;
  std::optional<FloatColumns> columns;
  size_t width = 0;
};

} // namespace

std::string arrayText(const PrintOperand &array) {
  if (numElements(array.shape) == 0)
    return "[]";
  return ArrayWriter(array).write();
}

} // namespace shoal::support
