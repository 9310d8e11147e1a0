#include "base/json_fields.h"

#include "gtest/gtest.h"

namespace muster {
namespace {

TEST(JsonFieldsTest, AFieldThatIsAbsentOrOfAnotherTypeReadsAsEmpty) {
  for (const char* text : {"null", "7", "[]", "{}", R"({"x": null})", R"({"x": {"y": 1}})"}) {
    const Json json = *ParseJson(text);
    EXPECT_EQ(FindField(json, {"x", "z"}), nullptr) << text;
    EXPECT_EQ(StringField(json, "x"), "") << text;
    EXPECT_FALSE(BoolField(json, "x")) << text;
    EXPECT_EQ(IntegerField(json, "x"), std::nullopt) << text;
    EXPECT_EQ(NumberField(json, "x"), 0) << text;
    EXPECT_EQ(ArrayField(json, "x"), Json::array()) << text;
    EXPECT_TRUE(StringsField(json, "x").empty()) << text;
    EXPECT_TRUE(LabelField(json, "x").empty()) << text;
    EXPECT_TRUE(ValueField(json, "z").is_null()) << text;
  }
}

TEST(JsonFieldsTest, ReadsFieldsOfEveryType) {
  const Json json = *ParseJson(
      R"({"a": {"b": "c", "n": 1}, "yes": true, "n": 3, "part": 3.9, "list": ["x", 1, "y"]})");
  EXPECT_EQ(*FindField(json, {"a", "b"}), "c");
  EXPECT_EQ(FindField(json, {}), &json);
  EXPECT_EQ(StringField(ObjectField(json, "a"), "b"), "c");
  EXPECT_EQ(LabelField(json, "a"), (std::map<std::string, std::string>{{"b", "c"}}));
  EXPECT_TRUE(BoolField(json, "yes"));
  EXPECT_EQ(IntegerField(json, "n"), 3);
  EXPECT_EQ(IntegerField(json, "part"), std::nullopt);
  EXPECT_EQ(NumberField(json, "n"), 3);
  EXPECT_EQ(NumberField(json, "part"), 3);
  EXPECT_EQ(ArrayField(json, "list").size(), 3);
  EXPECT_EQ(StringsField(json, "list"), (std::vector<std::string>{"x", "y"}));
  EXPECT_EQ(ValueField(json, "part"), 3.9);
}

}  // namespace
}  // namespace muster
