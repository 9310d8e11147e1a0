#include "operator/placement/label_map.h"

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "absl/hash/hash.h"
#include "gtest/gtest.h"

namespace muster::control {
namespace {

std::map<std::string, std::string> ToMap(const LabelMap& labels) {
  std::map<std::string, std::string> map;
  for (const auto& [key, value] : labels) map.emplace(key, value);
  return map;
}

TEST(LabelMapTest, HoldsWhatItWasMadeOf) {
  const std::map<std::string, std::string> lengths = {
      {"", ""},
      {"a", ""},
      {"empty key's value", "x"},
      {std::string(127, 'k'), std::string(128, 'v')},
      {std::string(317, 'k'), std::string(70'000, 'v')},
      {std::string("nul\0s", 5), std::string("\0\x80\xff", 3)},
  };
  const LabelMap labels(lengths);
  EXPECT_EQ(ToMap(labels), lengths);
  EXPECT_EQ(labels.size(), lengths.size());
  for (const auto& [key, value] : lengths) {
    ASSERT_NE(labels.find(key), labels.end());
    EXPECT_EQ(labels.find(key)->second, value);
  }
}

TEST(LabelMapTest, WhatIsNotThereIsNotFound) {
  const LabelMap none;
  EXPECT_TRUE(none.empty());
  EXPECT_EQ(none.size(), 0u);
  EXPECT_EQ(none.begin(), none.end());
  const LabelMap labels = {{"app", "x"}, {"apple", "y"}, {"b", ""}};
  for (const char* key : {"", "a", "ap", "appl", "apples", "x", "bx"}) {
    EXPECT_EQ(labels.count(key), 0u) << key;
    EXPECT_EQ(labels.find(key), labels.end()) << key;
    EXPECT_EQ(labels.Value(key), "") << key;
    EXPECT_EQ(none.count(key), 0u) << key;
  }
  EXPECT_EQ(labels.Value("apple"), "y");
  EXPECT_EQ(labels.count("b"), 1u);
}

TEST(LabelMapTest, EqualWhateverTheOrderTheyCameIn) {
  const LabelMap one = {{"a", "1"}, {"b", "2"}};
  const LabelMap other = {{"b", "2"}, {"a", "1"}};
  EXPECT_EQ(one, other);
  EXPECT_EQ(absl::HashOf(one), absl::HashOf(other));
  EXPECT_NE(one, (LabelMap{{"a", "1"}, {"b", "3"}}));
  EXPECT_NE(one, (LabelMap{{"a", "1b"}, {"", "2"}}));
  EXPECT_NE(one, LabelMap());
}

TEST(LabelMapTest, ViewsLiveAsLongAsOneOfTheCopies) {
  auto first = std::make_unique<LabelMap>(LabelMap{{"zone", "us-east-1a, which is long enough"}});
  const LabelMap copy = *first;
  const std::string_view zone = first->Value("zone");
  first.reset();
  EXPECT_EQ(zone, "us-east-1a, which is long enough");
  EXPECT_EQ(copy.Value("zone").data(), zone.data());
}

}  // namespace
}  // namespace muster::control
