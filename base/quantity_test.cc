#include "base/quantity.h"

#include <cstdint>
#include <limits>
#include <string>

#include "absl/status/status.h"
#include "gtest/gtest.h"

namespace muster {
namespace {

int64_t Millis(const char* text) { return Quantity::Parse(text).value().MilliValue(); }
int64_t Value(const char* text) { return Quantity::Parse(text).value().Value(); }

TEST(QuantityTest, UnitsAndThousandths) {
  EXPECT_EQ(Millis("500m"), 500);
  EXPECT_EQ(Millis("0.5"), 500);
  EXPECT_EQ(Value("1.5Gi"), int64_t{3} << 29);
  EXPECT_EQ(Value("2e3"), 2000);
  EXPECT_EQ(Value("1E"), int64_t{1'000'000'000'000'000'000});
  EXPECT_EQ(Value("128974848000m"), 128974848);
}

TEST(QuantityTest, FractionsRoundUp) {
  EXPECT_EQ(Millis("100u"), 1);
  EXPECT_EQ(Millis("1000001u"), 1001);
  EXPECT_EQ(Value("1n"), 1);
  EXPECT_EQ(Value("1.0000000001"), 2);
}

// Two containers of half a thousandth are one thousandth, not two.
TEST(QuantityTest, SumsAreExact) {
  Quantity sum = Quantity::Parse("500u").value();
  sum += Quantity::Parse("500u").value();
  EXPECT_EQ(sum.MilliValue(), 1);
}

// A double would turn 2^63 - 1 into 2^63.
TEST(QuantityTest, LargeAmountsAreExactToTheLimitAndThenAbsurd) {
  constexpr int64_t kLimit = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(Value("9223372036854775807"), kLimit);
  EXPECT_EQ(Value("9007199254740993"), int64_t{9007199254740993});
  EXPECT_FALSE(Quantity::Parse("9223372036854775807")->IsAbsurd());
  EXPECT_TRUE(Quantity::Parse("9223372036854775808")->IsAbsurd());
  EXPECT_TRUE(Quantity::Parse("1e300")->IsAbsurd());
  EXPECT_EQ(Value("1e300"), kLimit);
  Quantity sum = Quantity::Parse("1e300").value();
  for (int i = 0; i < 1000; ++i) sum += sum;
  EXPECT_EQ(sum.Value(), kLimit);
}

TEST(QuantityTest, WhatIsNone) {
  for (const char* text : {"", "x", "1K", "1mi", "1e", "1m5", "1 ", "1 Gi", "1GiB", "--1", "1.2.3",
                           "0x10", "1Ki2", "nan", "inf"}) {
    EXPECT_EQ(Quantity::Parse(text).status().code(), absl::StatusCode::kInvalidArgument) << text;
  }
  EXPECT_TRUE(Quantity::Parse("-5")->IsNegative());
}

}  // namespace
}  // namespace muster
