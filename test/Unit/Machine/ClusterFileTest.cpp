// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Machine/ClusterFile.h"
#include <filesystem>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace shoal;
using testing::HasSubstr;
using testing::StartsWith;

static const std::string kText = R"(name = "two islands"
[chip]
memory = 80e9
memory_bw = 3e12
flops = { bf16 = 9e14, f32 = 6e13 }
gemm = { max = 0.8, half = [48, 48, 256] }
[[level]]
name = "switch"
size = 8
kind = "switch"
bw = 450e9
bw_eff = { all_to_all = 0.7, all_gather = 0.8 }
nvls = 1.3
alpha = 3e-6
[[level.measured]]
kind = "all_reduce"
members = 2
seconds = [[1024, 1e-6], [1048576, 1e-4]]
[[level]]
name = "rails"
size = 2
kind = "rails"
bw = 50e9
bw_eff = 0.9
bw_points = [[1e3, 0.1], [1e6, 1]]
)";

static std::string replaced(const std::string &from, const std::string &to) {
  std::string text = kText;
  size_t place = text.find(from);
  EXPECT_NE(place, std::string::npos) << from;
  return text.replace(place, from.size(), to);
}

static std::string errorOf(const std::string &text) {
  support::Result<Cluster> read = parseCluster(text, "m.toml");
  EXPECT_FALSE(read);
  return read ? "" : read.error().message;
}

TEST(ClusterFileTest, IsRead) {
  support::Result<Cluster> read = parseCluster(kText, "m.toml");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->devices(), 16);
  EXPECT_EQ(read->chip.flops.at("bf16"), 9e14);
  EXPECT_EQ(read->chip.products.half[2], 256);
  EXPECT_EQ(read->levels[0].efficiency.at(CollectiveKind::AllToAll), 0.7);
  EXPECT_EQ(read->levels[1].efficiency.size(), kCollectiveKinds.size());
  EXPECT_EQ(read->levels[0].measured[0].seconds.size(), 2u);
  EXPECT_EQ(read->levels[1].kind, LevelKind::Rails);
}

TEST(ClusterFileTest, IsWrittenAsItIsRead) {
  support::Result<Cluster> first = parseCluster(kText, "m.toml");
  std::string written = writeCluster(*first);
  support::Result<Cluster> second = parseCluster(written, "written");
  ASSERT_TRUE(second) << second.error().message << "\n" << written;
  EXPECT_EQ(writeCluster(*second), written);
  EXPECT_EQ(second->levels[0].measured[0].seconds,
            first->levels[0].measured[0].seconds);
  EXPECT_EQ(second->levels[1].messageShare, first->levels[1].messageShare);
}

TEST(ClusterFileTest, ErrorsHavePlaceAndLaw) {
  EXPECT_EQ(errorOf(replaced("memory_bw", "memroy_bw")),
            "m.toml:2: missing key \"chip.memory_bw\"");
  EXPECT_EQ(errorOf(replaced("nvls", "nvsl")),
            "m.toml:13: unknown key \"level.nvsl\"; nearest: \"level.nvls\"");
  EXPECT_EQ(errorOf(replaced("\"switch\"\nbw", "\"swich\"\nbw")),
            "m.toml:10: level.kind: expected one of switch, rails, torus, bus");
  EXPECT_EQ(errorOf(replaced("size = 8", "size = 0")),
            "m.toml:9: level.size: expected a number of 1 or more");
  EXPECT_EQ(errorOf(replaced("size = 8", "size = 1.5")),
            "m.toml:9: level.size: expected a whole number, at most 2^40");
  EXPECT_EQ(errorOf(replaced("bw_eff = 0.9", "bw_eff = 1.9")),
            "m.toml:24: level.bw_eff: expected a share, over 0 and at most 1");
  EXPECT_EQ(errorOf(replaced("all_to_all = 0.7", "alltoall = 0.7")),
            "m.toml:12: unknown key \"level.bw_eff.alltoall\"; nearest: "
            "\"level.bw_eff.all_to_all\"");
  EXPECT_EQ(errorOf(replaced("80e9", "\"80 GB\"")),
            "m.toml:3: chip.memory: expected a number over 0");
  EXPECT_EQ(errorOf(replaced("80e9", "nan")),
            "m.toml:3: chip.memory: expected a number over 0");
  EXPECT_THAT(errorOf(replaced("[1e3, 0.1]", "[1e7, 0.1]")),
              HasSubstr("points whose first numbers rise"));
  EXPECT_THAT(errorOf(replaced("[1e6, 1]", "[1e3, 1]")), HasSubstr("rise"));
  EXPECT_THAT(
      errorOf(replaced("[[1e3, 0.1], [1e6, 1]]", "[[1e3, 1e-3], [1e4, 1]]")),
      HasSubstr("by bw_points"));
  EXPECT_EQ(errorOf(replaced("memory_bw = 3e12",
                             "memory_bw = 3e12\n"
                             "memory_points = [[1e3, 1e-3], [1e4, 1]]")),
            "m.toml: chip: by memory_points 1000.00 bytes take longer than "
            "10000.00");
  EXPECT_EQ(errorOf(replaced("alpha = 3e-6", "alpha = 1e300")),
            "m.toml:14: level.alpha: expected 0 to 1 seconds");
  EXPECT_EQ(errorOf(replaced("memory_bw", "reserved = 90e9\nmemory_bw")),
            "m.toml: expected chip.reserved below chip.memory, but 9.00e+10 is "
            "not below 8.00e+10");
  EXPECT_EQ(errorOf(replaced("size = 2\n", "size = 1099511627776\n")),
            "m.toml: expected at most 2^40 devices of all levels");
  EXPECT_EQ(errorOf(replaced("{ bf16 =", "{ bfloat16 =")),
            "m.toml: chip.flops: \"bfloat16\" is no element type, as bf16, "
            "f8E4M3FN or i8");
  EXPECT_THAT(errorOf("name = "), StartsWith("m.toml:1: "));
  EXPECT_THAT(errorOf("name = \"x\"\nlevel = 3\nchip = 1\n"),
              HasSubstr("expected a table"));
  EXPECT_EQ(readCluster("no/such.toml").error().message,
            "cannot read no/such.toml");
}

TEST(ClusterFileTest, ShippedOnesAreRead) {
  int count = 0;
  for (auto &file : std::filesystem::directory_iterator(SHOAL_MACHINES)) {
    support::Result<Cluster> read = readCluster(file.path());
    EXPECT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->name, file.path().stem());
    EXPECT_FALSE(read->source.empty()) << file.path();
    ++count;
  }
  EXPECT_GE(count, 10);
}
