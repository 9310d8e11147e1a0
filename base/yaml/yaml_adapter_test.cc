#include "base/yaml/yaml_adapter.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "base/json.h"

namespace muster {
namespace {

Json Read(const std::string& text) {
  YamlDocument document = ParseYaml(text);
  EXPECT_TRUE(document.readable && document.errors.empty())
      << text << ": " << (document.errors.empty() ? "" : document.errors[0].message);
  return document.json;
}

// Returns the one error of a text that is not YAML, as "line: message".
std::string Fault(const std::string& text, const YamlLimits& limits = {}) {
  const YamlDocument document = ParseYaml(text, limits);
  EXPECT_FALSE(document.readable);
  EXPECT_TRUE(document.json.is_null());
  if (document.errors.size() != 1) return absl::StrCat(document.errors.size(), " errors");
  return absl::StrCat(document.errors[0].line, ": ", document.errors[0].message);
}

TEST(ParseYaml, ReadsBlocksFlowsAndScalars) {
  EXPECT_EQ(Read("a: 1\nb: [x, 2.5, {c: true}]\nd:\n  - e\n  -\n    f: ~\n"),
            *ParseJson(R"({"a": 1, "b": ["x", 2.5, {"c": true}], "d": ["e", {"f": null}]})"));
  EXPECT_EQ(Read("a: |\n  x\n  y\nb: >-\n  x\n  y\n"),
            *ParseJson(R"({"a": "x\ny\n", "b": "x y"})"));
}

TEST(ParseYaml, QuotedAndTaggedScalarsAreStrings) {
  EXPECT_EQ(Read("[\"1\", 'true', !!str 5, \"\", '~']"), Json::array({"1", "true", "5", "", "~"}));
}

TEST(ParseYaml, JsonIsYaml) {
  const char* json = R"({"a": {"b": [1, -2.5e3, "x\ty", null, false]}})";
  EXPECT_EQ(Read(json), *ParseJson(json));
}

TEST(ParseYaml, EmptyTextIsNull) {
  EXPECT_EQ(Read(""), Json());
  EXPECT_EQ(Read("# only a comment\n---\n...\n"), Json());
}

TEST(ParseYaml, OneDocumentMayHaveMarkers) {
  EXPECT_EQ(Read("---\na: 1\n---\n"), Json::object({{"a", 1}}));
  EXPECT_EQ(Read("%YAML 1.2\n---\na: 1\n...\n"), Json::object({{"a", 1}}));
}

TEST(ParseYaml, AliasesRepeatTheirAnchor) {
  EXPECT_EQ(Read("a: &x {k: [1]}\nb: *x\nc: [*x, *x]\n"),
            *ParseJson(R"({"a": {"k": [1]}, "b": {"k": [1]}, "c": [{"k": [1]}, {"k": [1]}]})"));
}

TEST(ParseYaml, AliasBombsAreBounded) {
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 12; ++i) {
    absl::StrAppend(&bomb, "a", i, ": &a", i, " [");
    for (int j = 0; j < 10; ++j) absl::StrAppend(&bomb, j > 0 ? ", " : "", "*a", i - 1);
    absl::StrAppend(&bomb, "]\n");
  }
  const YamlDocument document = ParseYaml(bomb);
  EXPECT_FALSE(document.readable);
  EXPECT_EQ(
      document.errors[0].message,
      "too large: with all aliases written out it has more than 50000 values or 4194304 bytes");
}

TEST(ParseYaml, LongStringsRepeatedByAliasesAreBounded) {
  std::string text = absl::StrCat("a: &a ", std::string(100'000, 'x'), "\nb: [");
  for (int i = 0; i < 100; ++i) absl::StrAppend(&text, "*a, ");
  EXPECT_FALSE(ParseYaml(text + "]\n").readable);
}

TEST(ParseYaml, NestedAnchorsAreBounded) {
  std::string text;
  for (int i = 0; i < 60; ++i) absl::StrAppend(&text, "&a", i, " [");
  for (int i = 0; i < 2000; ++i) absl::StrAppend(&text, "x, ");
  text += std::string(60, ']');
  EXPECT_FALSE(ParseYaml(text).readable);
}

TEST(ParseYaml, SizeAndDepthAreBounded) {
  YamlLimits limits;
  limits.bytes = 10;
  EXPECT_EQ(Fault("0123456789a", limits), "1: is 11 bytes long; want at most 10");
  EXPECT_EQ(Fault(std::string(65, '[') + std::string(65, ']')), "1: nested deeper than 64 levels");
  EXPECT_FALSE(ParseYaml(std::string(100'000, '[')).readable);
  EXPECT_EQ(Fault(absl::StrCat("? ", std::string(1025, 'k'), "\n: v\n")),
            "1: a key is longer than 1024 bytes");
}

TEST(ParseYaml, BytesThatAreNotTextAreAnErrorWithTheirOffset) {
  EXPECT_EQ(Fault(std::string("a: b\n\0", 6)),
            "2: not a text file: byte 0x00 at offset 5; want YAML in UTF-8");
  EXPECT_EQ(Fault("a: \xc0\xaf"), "1: not a text file: byte 0xc0 at offset 3; want YAML in UTF-8");
  EXPECT_EQ(Read("a: \xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80")["a"], "é€😀");
}

// Regression: yaml-cpp offers an empty document at such a token again and again.
TEST(ParseYaml, AStrayBracketIsAnErrorAndNoEndlessLoop) {
  EXPECT_EQ(Fault("{a: 1}, b\n"),
            "1: not valid YAML: a bracket or mark that nothing opened (column 7)");
  EXPECT_EQ(Fault("a: 1\n}}\n"), "2: not valid YAML: illegal flow end (column 1)");
  EXPECT_FALSE(ParseYaml("]").readable);
  EXPECT_FALSE(ParseYaml(", a").readable);
}

TEST(ParseYaml, DuplicateKeysKeepTheFirstAndSaySo) {
  const YamlDocument document = ParseYaml("a:\n  b: 1\n  c: {d: 1, d: 2}\n  b: 3\n");
  EXPECT_TRUE(document.readable);
  EXPECT_EQ(document.json, *ParseJson(R"({"a": {"b": 1, "c": {"d": 1}}})"));
  ASSERT_EQ(document.errors.size(), 2u);
  EXPECT_EQ(document.errors[0].path, "a.c.d");
  EXPECT_EQ(document.errors[0].line, 3);
  EXPECT_EQ(document.errors[1].path, "a.b");
  EXPECT_EQ(document.errors[1].message, "given twice; the first is on line 2");
}

TEST(LineOf, FindsFieldsItemsAndTheirParents) {
  const YamlDocument document = ParseYaml(
      "a:\n"
      "  b:\n"
      "    - x\n"
      "    - c: 1\n"
      "      \"d/e\": 2\n"
      "f: {g: 1,\n"
      "  h: 2}\n");
  const SourceNode& root = document.source;
  EXPECT_EQ(LineOf(root, ""), 1);
  EXPECT_EQ(LineOf(root, "a"), 1);
  EXPECT_EQ(LineOf(root, "a.b"), 2);
  EXPECT_EQ(LineOf(root, "a.b[0]"), 3);
  EXPECT_EQ(LineOf(root, "a.b[1].c"), 4);
  EXPECT_EQ(LineOf(root, "a.b[1][\"d/e\"]"), 5);
  EXPECT_EQ(LineOf(root, "f.h"), 7);
  EXPECT_EQ(LineOf(root, "a.b[1].missing.deep"), 4);
  EXPECT_EQ(LineOf(root, "a.b[9]"), 2);
  EXPECT_EQ(LineOf(root, "a[\"unclosed"), 1);
  EXPECT_EQ(LineOf(root, "nowhere"), 1);
}

}  // namespace
}  // namespace muster
