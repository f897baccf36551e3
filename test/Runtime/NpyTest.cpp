// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Support/Npy.h"
#include "shoal/Support/SmallFloat.h"

#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <numeric>
#include <thread>
#include <unistd.h>

using namespace shoal::support;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

namespace {

class Npy : public testing::Test {
protected:
  Npy() {
    dir = std::filesystem::temp_directory_path() /
          ("shoal-npy-" + std::to_string(getpid()));
    std::filesystem::create_directories(dir);
    path = dir / "a.npy";
  }
  ~Npy() override { std::filesystem::remove_all(dir); }

  void writeFile(const std::string &bytes) const {
    std::ofstream(path, std::ios::binary) << bytes;
  }

  /// Why reading a 2x3 array of f32 fails.
  std::string readError(ElementType type = ElementType::F32,
                        std::vector<int64_t> shape = {2, 3}) const {
    std::vector<char> buffer(1024);
    Status failed = readNpy(path, type, shape, buffer.data());
    return failed ? failed->message : "";
  }

  std::filesystem::path dir;
  std::string path;
};

std::string header(const std::string &dict) {
  std::string text = dict + "\n";
  std::string bytes = "\x93NUMPY\x01";
  bytes += '\0';
  bytes += static_cast<char>(text.size());
  bytes += '\0';
  return bytes + text;
}

const std::vector<int64_t> shape = {2, 3};

TEST_F(Npy, round_trip_of_every_type) {
  for (int64_t t = 0; t < numElementTypes; ++t) {
    auto type = static_cast<ElementType>(t);
    std::vector<char> in(6 * elementSize(type)), out(in.size());
    for (size_t i = 0; i < in.size(); ++i)
      in[i] = static_cast<char>(i % 2);
    ASSERT_FALSE(writeNpy(path, type, shape, in.data()));
    ASSERT_FALSE(readNpy(path, type, shape, out.data()));
    EXPECT_EQ(in, out) << elementTypeName(type);
  }
}

TEST_F(Npy, complex_numbers_are_pairs) {
  std::vector<int64_t> pairs = {3, 2}, scalar = {2};
  EXPECT_THAT(makeNpyHeader(ElementType::F32, pairs, /*isComplex=*/true),
              HasSubstr("{'descr': '<c8', 'fortran_order': False, 'shape': "
                        "(3,), }"));
  EXPECT_THAT(makeNpyHeader(ElementType::F64, scalar, /*isComplex=*/true),
              HasSubstr("{'descr': '<c16', 'fortran_order': False, 'shape': "
                        "(), }"));
  std::vector<float> in = {1, 2, 3, 4, 5, 6}, out(6);
  ASSERT_FALSE(writeNpy(path, ElementType::F32, pairs, in.data(),
                        /*isComplex=*/true));
  ASSERT_FALSE(readNpy(path, ElementType::F32, pairs, out.data()));
  EXPECT_EQ(in, out);
  // A second process' part.
  Block last{{2, 0}, {1, 2}};
  std::vector<int64_t> one = {1, 2};
  float changed[] = {7, 8};
  ASSERT_FALSE(writeNpyBlock(path, ElementType::F32, pairs, last, one, changed,
                             /*isComplex=*/true));
  ASSERT_FALSE(
      readNpyBlock(path, ElementType::F32, pairs, last, one, out.data()));
  EXPECT_EQ(out[1], 8);
  EXPECT_TRUE(readNpy(path, ElementType::F64, pairs, out.data()));
}

TEST_F(Npy, header_is_numpys_own) {
  std::vector<int64_t> vector = {5}, scalar;
  std::string text = makeNpyHeader(ElementType::F32, shape);
  EXPECT_EQ(text.size() % 64, 0u);
  EXPECT_THAT(
      text,
      HasSubstr("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }"));
  EXPECT_THAT(makeNpyHeader(ElementType::BF16, vector),
              HasSubstr("'<V2', 'fortran_order': False, 'shape': (5,), }"));
  EXPECT_THAT(makeNpyHeader(ElementType::I1, scalar),
              HasSubstr("'|b1', 'fortran_order': False, 'shape': (), }"));
}

TEST_F(Npy, blocks_of_the_file_and_of_the_buffer) {
  std::vector<float> all(4 * 5 * 6);
  for (size_t i = 0; i < all.size(); ++i)
    all[i] = static_cast<float>(i);
  std::vector<int64_t> global = {4, 5, 6}, buffer = {2, 3, 6};
  ASSERT_FALSE(createNpy(path, ElementType::F32, global));
  // Four disjoint blocks; the buffer is larger than the tail blocks.
  for (int64_t i : {0, 2})
    for (int64_t j : {0, 3}) {
      Block block{{i, j, 0}, {2, std::min<int64_t>(3, 5 - j), 6}};
      std::vector<float> part(2 * 3 * 6, -1);
      for (int64_t a = 0; a < 2; ++a)
        for (int64_t b = 0; b < block.extent[1]; ++b)
          for (int64_t c = 0; c < 6; ++c)
            part[(a * 3 + b) * 6 + c] = all[((a + i) * 5 + b + j) * 6 + c];
      ASSERT_FALSE(writeNpyBlock(path, ElementType::F32, global, block, buffer,
                                 part.data()));
      std::vector<float> again(part.size(), -1);
      ASSERT_FALSE(readNpyBlock(path, ElementType::F32, global, block, buffer,
                                again.data()));
      EXPECT_EQ(part, again);
    }
  std::vector<float> found(all.size());
  ASSERT_FALSE(readNpy(path, ElementType::F32, global, found.data()));
  EXPECT_EQ(found, all);
}

/// Numbers 0, 1, 2, ...
std::vector<float> counted(int64_t count) {
  std::vector<float> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0.0F);
  return numbers;
}

/// Columns of an array of three windows: a device's runs are 8 bytes, and the
/// last one's 4.
TEST_F(Npy, short_runs_are_those_of_the_file) {
  const std::vector<int64_t> shape = {100000, 7}, local = {100000, 2};
  std::vector<float> all = counted(700000);
  ASSERT_FALSE(writeNpy(path, ElementType::F32, shape, all.data()));
  for (int64_t column : {0, 2, 6}) {
    int64_t width = std::min<int64_t>(2, 7 - column);
    std::vector<float> part(200000, -1);
    ASSERT_FALSE(readNpyBlock(path, ElementType::F32, shape,
                              {{0, column}, {100000, width}}, local,
                              part.data()));
    for (int64_t row = 0; row < 100000; ++row)
      for (int64_t i = 0; i < 2; ++i)
        ASSERT_EQ(part[row * 2 + i],
                  i < width ? float(row * 7 + column + i) : -1);
    // bf16 is rounded on the way.
    std::vector<uint16_t> rounded(200000);
    ASSERT_FALSE(readNpyBlock(path, ElementType::BF16, shape,
                              {{0, column}, {100000, width}}, local,
                              rounded.data()));
    EXPECT_EQ(rounded[2 * 99], toBFloat16(float(99 * 7 + column)).bits);
  }
  std::filesystem::resize_file(path, 2000000);
  std::vector<float> part(200000);
  Status failed = readNpyBlock(path, ElementType::F32, shape,
                               {{0, 0}, {100000, 2}}, local, part.data());
  ASSERT_TRUE(failed);
  EXPECT_THAT(failed->message, HasSubstr("truncated"));
}

/// All at once, as devices do.
TEST_F(Npy, short_runs_of_many_writers_come_together) {
  const std::vector<int64_t> shape = {150000, 7}, local = {150000, 2};
  std::vector<float> all = counted(1050000);
  ASSERT_FALSE(createNpy(path, ElementType::F32, shape));
  std::vector<std::thread> writers;
  for (int64_t column : {0, 2, 4, 6})
    writers.emplace_back([&, column] {
      int64_t width = std::min<int64_t>(2, 7 - column);
      std::vector<float> part(300000);
      for (int64_t row = 0; row < 150000; ++row)
        for (int64_t i = 0; i < width; ++i)
          part[row * 2 + i] = all[row * 7 + column + i];
      EXPECT_FALSE(writeNpyBlock(path, ElementType::F32, shape,
                                 {{0, column}, {150000, width}}, local,
                                 part.data()));
    });
  for (std::thread &writer : writers)
    writer.join();
  std::vector<float> found(1050000);
  ASSERT_FALSE(readNpy(path, ElementType::F32, shape, found.data()));
  EXPECT_EQ(found, all);
}

TEST_F(Npy, empty_blocks_and_empty_arrays) {
  std::vector<int64_t> empty = {0, 3};
  ASSERT_FALSE(writeNpy(path, ElementType::F32, empty, nullptr));
  ASSERT_FALSE(readNpy(path, ElementType::F32, empty, nullptr));
}

TEST_F(Npy, bf16_from_its_other_spellings) {
  float values[] = {1, -2.5};
  std::vector<int64_t> two = {2};
  ASSERT_FALSE(writeNpy(path, ElementType::F32, two, values));
  BFloat16 out[2];
  ASSERT_FALSE(readNpy(path, ElementType::BF16, two, out));
  EXPECT_EQ(toFloat(out[0]), 1);
  EXPECT_EQ(toFloat(out[1]), -2.5);
  for (const char *descr : {"<V2", "|V2", "<u2"}) {
    writeFile(header("{'descr': '" + std::string(descr) +
                     "', 'fortran_order': False, 'shape': (2,), }") +
              std::string("\x80\x3f\x20\xc0", 4));
    ASSERT_FALSE(readNpy(path, ElementType::BF16, two, out)) << descr;
    EXPECT_EQ(toFloat(out[1]), -2.5);
  }
}

TEST_F(Npy, i1_reads_any_byte_as_0_or_1) {
  writeFile(
      header("{'descr': '|b1', 'fortran_order': False, 'shape': (3,), }") +
      std::string("\x00\x01\x07", 3));
  std::vector<uint8_t> out(3);
  std::vector<int64_t> three = {3};
  ASSERT_FALSE(readNpy(path, ElementType::I1, three, out.data()));
  EXPECT_THAT(out, ElementsAre(0, 1, 1));
}

TEST_F(Npy, errors_name_the_file_and_both_sides) {
  std::vector<float> six(6);
  ASSERT_FALSE(writeNpy(path, ElementType::F32, shape, six.data()));
  EXPECT_EQ(readError(ElementType::I32),
            path + ": element type is '<f4', expected i32");
  EXPECT_EQ(readError(ElementType::F32, {3, 2}),
            path + ": shape is 2x3, expected 3x2");
  EXPECT_EQ(readError(ElementType::F32, {}),
            path + ": shape is 2x3, expected scalar");
  std::filesystem::resize_file(path, 128 + 20);
  EXPECT_EQ(readError(), path + ": truncated: 20 bytes of data, expected 24");
  std::filesystem::resize_file(path, 60);
  EXPECT_EQ(readError(), path + ": truncated .npy header");
}

TEST_F(Npy, errors_on_what_is_no_array) {
  EXPECT_THAT(readError(), AllOf(StartsWith(path), HasSubstr("No such file")));
  writeFile("hello, world: not an array");
  EXPECT_EQ(readError(), path + ": not a .npy file");
  writeFile("");
  EXPECT_EQ(readError(), path + ": not a .npy file");
  writeFile(
      header("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }") +
      std::string(24, '\0'));
  EXPECT_THAT(readError(), HasSubstr("Fortran order"));
  writeFile(
      header("{'descr': '>f4', 'fortran_order': False, 'shape': (2, 3)}"));
  EXPECT_THAT(readError(), HasSubstr("element type is '>f4', expected f32"));
  path = dir;
  EXPECT_THAT(readError(), HasSubstr("Is a directory"));
}

TEST_F(Npy, malformed_headers_are_errors) {
  for (const char *dict :
       {"", "{", "{}", "{'descr': '<f4'}", "{'descr': 3}",
        "{'descr': '<f4', 'fortran_order': Maybe, 'shape': (2, 3)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2, -3)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': 2}",
        "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': "
        "(99999999999999999999,)}"}) {
    writeFile(header(dict));
    EXPECT_EQ(readError(), path + ": malformed .npy header") << dict;
  }
}

TEST(SmallFloat, f16_round_trips_and_rounds_to_even) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    Float16 half{static_cast<uint16_t>(bits)};
    bool nan = (bits & 0x7fff) > 0x7c00;
    if (!nan)
      EXPECT_EQ(toFloat16(toFloat(half)).bits, bits);
    else
      EXPECT_NE(toFloat(half), toFloat(half));
  }
  EXPECT_EQ(toFloat16(2049).bits, toFloat16(2048).bits);
  EXPECT_EQ(toFloat16(2051).bits, toFloat16(2052).bits);
  EXPECT_EQ(toFloat(toFloat16(65519.0f)), 65504);
  EXPECT_EQ(toFloat16(65520.0f).bits, 0x7c00);
  EXPECT_EQ(toFloat16(0x1p-25f).bits, 0);
  EXPECT_EQ(toFloat16(0x1.8p-25f).bits, 1);
}

TEST(SmallFloat, bf16_rounds_to_even_and_keeps_nan) {
  EXPECT_EQ(toFloat(toBFloat16(257)), 256);
  EXPECT_EQ(toFloat(toBFloat16(259)), 260);
  float nan = std::bit_cast<float>(0x7f800001u);
  EXPECT_NE(toFloat(toBFloat16(nan)), toFloat(toBFloat16(nan)));
}

} // namespace
