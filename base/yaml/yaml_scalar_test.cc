#include "base/yaml/yaml_scalar.h"

#include <gtest/gtest.h>

#include <cstdint>

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
  } kCases[] = {{"3.0e-4", 3e-4}, {"1e3", 1000},  {".5", 0.5}, {"2.", 2},
                {"-1.5", -1.5},   {"+.5E+2", 50}, {"0.0", 0},  {"1E-8", 1e-8}};
  for (const auto& c : kCases) {
    EXPECT_TRUE(ResolvePlainScalar(c.text).is_number_float()) << c.text;
    EXPECT_EQ(ResolvePlainScalar(c.text).get<double>(), c.value) << c.text;
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
