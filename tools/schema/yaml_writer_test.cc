#include "tools/schema/yaml_writer.h"

#include <gtest/gtest.h>

#include "base/json.h"
#include "base/yaml/yaml_adapter.h"

namespace muster::schema {
namespace {

TEST(WriteYaml, WritesBlocks) {
  const Json json = {
      {"a", 1},
      {"b", {{"c", "word"}, {"d", Json::array({1, "two words", Json::object()})}}},
      {"e", Json::array({{{"x", true}, {"y", Json::array({1})}}, Json::array({2, 3})})},
      {"f", Json::object()},
      {"g", Json()},
  };
  EXPECT_EQ(WriteYaml(json),
            "a: 1\n"
            "b:\n"
            "  c: word\n"
            "  d:\n"
            "  - 1\n"
            "  - \"two words\"\n"
            "  - {}\n"
            "e:\n"
            "- x: true\n"
            "  \"y\":\n"
            "  - 1\n"
            "-\n"
            "  - 2\n"
            "  - 3\n"
            "f: {}\n"
            "g: null\n");
}

TEST(WriteYaml, QuotesWhatReadersDisagreeOn) {
  EXPECT_EQ(WriteYaml(Json{{"k", "yes"}}), "k: \"yes\"\n");
  EXPECT_EQ(WriteYaml(Json{{"k", "1"}}), "k: \"1\"\n");
  EXPECT_EQ(WriteYaml(Json{{"k", ".status.state"}}), "k: \".status.state\"\n");
  EXPECT_EQ(WriteYaml(Json{{"k", ""}}), "k: \"\"\n");
  EXPECT_EQ(WriteYaml(Json{{"k", "self.a: 'b' # c"}}), "k: \"self.a: 'b' # c\"\n");
}

TEST(WriteYaml, ReadsBackTheSame) {
  const Json json = {
      {"strings", Json::array({"on", "null", "1e3", "a\nb", "\t", "\"q\"", "- x", "0x1f", "é"})},
      {"numbers", Json::array({0, -1, 2.5, 1e-8})},
      {"empty", {{"list", Json::array()}, {"object", Json::object()}}},
      {"nested", Json::array({Json::array({Json::array({1})})})},
  };
  const YamlDocument read = ParseYaml(WriteYaml(json));
  ASSERT_TRUE(read.readable) << (read.errors.empty() ? "" : read.errors[0].message);
  EXPECT_EQ(read.json, json);
}

}  // namespace
}  // namespace muster::schema
