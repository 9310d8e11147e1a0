#include "base/yaml/yaml_scalar.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>

#include "base/json.h"

namespace muster {
namespace {

TEST(ResolvePlainScalar, NullsAndBools) {
  for (const char* text : {"", "~", "null", "Null", "NULL"}) {
    EXPECT_TRUE(ResolvePlainScalar(text).is_null()) << text;
  }
  for (const char* text : {"true", "True", "TRUE"}) EXPECT_EQ(ResolvePlainScalar(text), Json(true));
  for (const char* text : {"false", "False", "FALSE"}) {
    EXPECT_EQ(ResolvePlainScalar(text), Json(false));
  }
}

TEST(ResolvePlainScalar, Integers) {
  const struct {
    const char* text;
    Json value;
  } kCases[] = {
      {"0", 0},
      {"12", 12},
      {"-7", -7},
      {"+3", 3},
      {"0x1F", 31},
      {"0o17", 15},
      {"-0", 0},
      {"9223372036854775807", INT64_MAX},
      {"-9223372036854775807", -INT64_MAX},
  };
  for (const auto& c : kCases) {
    EXPECT_EQ(ResolvePlainScalar(c.text), c.value) << c.text;
    EXPECT_TRUE(ResolvePlainScalar(c.text).is_number_integer()) << c.text;
  }
}

TEST(ResolvePlainScalar, Floats) {
  const struct {
    const char* text;
    double value;
  } kCases[] = {{"3.0e-4", 3e-4}, {".5", 0.5}, {"-1.5", -1.5}, {"1E-8", 1e-8}, {"1e20", 1e20}};
  for (const auto& c : kCases) {
    EXPECT_TRUE(ResolvePlainScalar(c.text).is_number_float()) << c.text;
    EXPECT_EQ(ResolvePlainScalar(c.text).get<double>(), c.value) << c.text;
  }
}

// kubectl sends 1e3 as 1000, which an API server takes for an integer field.
TEST(ResolvePlainScalar, WholeNumbersAreIntegersHoweverTheyAreWritten) {
  const struct {
    const char* text;
    int64_t value;
  } kCases[] = {{"1e3", 1000}, {"2.", 2}, {"+.5E+2", 50}, {"0.0", 0}, {"-3.0", -3}};
  for (const auto& c : kCases) {
    EXPECT_TRUE(ResolvePlainScalar(c.text).is_number_integer()) << c.text;
    EXPECT_EQ(ResolvePlainScalar(c.text).get<int64_t>(), c.value) << c.text;
  }
}

// The values are those of `kubectl annotate --local -o json`.
TEST(OtherValueForKubectl, IsWhatYaml11ReadsThere) {
  const struct {
    const char* text;
    Json value;
  } kCases[] = {
      {"yes", true},
      {"Yes", true},
      {"on", true},
      {"y", true},
      {"no", false},
      {"OFF", false},
      {"n", false},
      {"0400", 256},
      {"01000", 512},
      {"-017", -15},
      {"00", 0},
      {"0800", 800},
      {"1_000", 1000},
      {"1_0.5", 10.5},
      {"0b101", 5},
      {"0X1F", 31},
      {"-0x10", -16},
      {"+0o17", 15},
      {"0x_1F", 31},
      {"1__", 1},
      {"08.5", 8.5},
      {".1_5", 0.15},
      {"-_1", -1},
      {"1_e3", 1000},
      {"99999999999999999999", 1e20},
  };
  for (const auto& c : kCases) {
    const std::optional<Json> other = OtherValueForKubectl(c.text);
    ASSERT_TRUE(other.has_value()) << c.text;
    EXPECT_EQ(*other, c.value) << c.text;
  }
}

TEST(OtherValueForKubectl, IsNoneWhereBothReadTheSame) {
  for (const char* text :
       {"",      "~",   "null",  "true", "False", "12",    "-7",         "+3",    "0",  "0x1F",
        "0o400", "1e3", "2.",    ".5",   "1.5",   "12:30", "2026-01-02", "yEs",   "Ya", "_1",
        "-",     "+",   "1.2.3", "0xg",  "1e",    "nope",  "10.0.0.1",   "0x1p3", "1 2"}) {
    EXPECT_EQ(OtherValueForKubectl(text), std::nullopt) << text;
  }
}

TEST(ResolvePlainScalar, EverythingElseStaysAString) {
  for (const char* text : {"yes",
                           "no",
                           "on",
                           "Off",
                           "y",
                           "tRue",
                           "nULL",
                           ".inf",
                           "-.inf",
                           ".nan",
                           "nan",
                           "inf",
                           "1e999",
                           "0123",
                           "-007",
                           "00",
                           "1_000",
                           "12:30",
                           "1e",
                           "1.2.3",
                           "0x",
                           "0xg",
                           "0o8",
                           "--1",
                           "+",
                           "-",
                           ".",
                           "e5",
                           "12h",
                           "99999999999999999999",
                           "-9999999999999999999",
                           "0x1p3",
                           "1 2"}) {
    EXPECT_EQ(ResolvePlainScalar(text), Json(text)) << text;
  }
}

}  // namespace
}  // namespace muster
