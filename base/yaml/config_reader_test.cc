#include "base/yaml/config_reader.h"

#include "gtest/gtest.h"

namespace muster {
namespace {

TEST(ConfigReaderTest, EveryFaultHasItsLineAndPath) {
  const YamlDocument document = ParseYaml("name: 3\nlist:\n- {size: big, other: 1, size: 2}\n");
  ConfigReader reader(document);
  EXPECT_EQ(reader.Text(document.json, "", "name"), std::nullopt);
  const Json& item = document.json["list"][0];
  EXPECT_EQ(reader.Number(item, "list[0]", "other"), 1.0);
  EXPECT_EQ(reader.Number(item, "list[0]", "absent"), std::nullopt);
  reader.RefuseOthers(item, "list[0]", {"size", "name"});
  const std::string faults(reader.Result().message());
  EXPECT_EQ(faults,
            "line 3: list[0].size: given twice; the first is on line 3\n"
            "line 1: name: want a string\n"
            "line 3: list[0].other: unknown field; the fields here are name, size");
}

TEST(ConfigReaderTest, ANumberIsFiniteAndNoText) {
  const YamlDocument document = ParseYaml("a: .nan\nb: .inf\nc: '3'\nd: 2.5\n");
  ConfigReader reader(document);
  for (const char* name : {"a", "b", "c"}) {
    EXPECT_EQ(reader.Number(document.json, "", name), std::nullopt) << name;
  }
  EXPECT_EQ(reader.Number(document.json, "", "d"), 2.5);
  EXPECT_EQ(reader.Result().message(),
            "line 1: a: want a number\nline 2: b: want a number\nline 3: c: want a number");
}

TEST(ConfigReaderTest, AFileWithoutFaultIsFine) {
  const YamlDocument document = ParseYaml("name: a\n");
  ConfigReader reader(document);
  EXPECT_EQ(reader.Text(document.json, "", "name"), "a");
  EXPECT_TRUE(reader.Result().ok());
}

}  // namespace
}  // namespace muster
