#include "tools/schema/compatibility.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/yaml/yaml_adapter.h"

namespace muster::schema {
namespace {

constexpr char kAccepted[] = "tools/schema/testdata/accepted_crd.yaml";
constexpr char kCurrent[] = "deploy/crd/muster.dev_trainingjobs.yaml";

Json ReadCrd(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  const YamlDocument document = ParseYaml(text.str());
  EXPECT_TRUE(document.readable) << path;
  return document.json;
}

// The breaking changes when one value of the accepted CRD's v1alpha1 schema is changed.
std::vector<std::string> After(const std::string& pointer, const Json& value) {
  const Json before = ReadCrd(kAccepted);
  Json after = before;
  Json& schema = after["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
  const Json::json_pointer at(pointer);
  if (value.is_null()) {
    schema.at(at.parent_pointer()).erase(at.back());
  } else {
    schema[at] = value;
  }
  return BreakingChanges(before, after);
}

using Sentences = std::vector<std::string>;
constexpr char kCount[] = "/properties/spec/properties/workers/properties/count";
constexpr char kWorkers[] = "/properties/spec/properties/workers";

std::string Of(const char* base, const char* rest) { return std::string(base) + rest; }

TEST(ApiEvolution, TheApiOnlyAddsToWhatWasAccepted) {
  EXPECT_EQ(BreakingChanges(ReadCrd(kAccepted), ReadCrd(kCurrent)), Sentences{})
      << "docs/api-evolution.md says what to do instead";
}

TEST(ApiEvolution, AdditionsPass) {
  EXPECT_EQ(After(Of(kWorkers, "/properties/reserves"), {{"type", "integer"}, {"minimum", 0}}),
            Sentences{});
  EXPECT_EQ(After(Of(kCount, "/maximum"), 10000), Sentences{});
  EXPECT_EQ(After(Of(kCount, "/description"), "How many."), Sentences{});
  EXPECT_EQ(After(Of(kWorkers, "/x-kubernetes-validations"), nullptr), Sentences{});
}

TEST(ApiEvolution, ARuleAboutANewFieldPasses) {
  const Json before = ReadCrd(kAccepted);
  Json after = before;
  Json& workers = after["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
                       ["properties"]["workers"];
  workers["properties"]["reserves"] = {{"type", "integer"}};
  workers["x-kubernetes-validations"].push_back(
      {{"rule", "!has(self.reserves) || self.reserves <= self.count"}});
  EXPECT_EQ(BreakingChanges(before, after), Sentences{});
}

TEST(ApiEvolution, ARemovedFieldBreaks) {
  EXPECT_EQ(After(kCount, nullptr), Sentences{"v1alpha1.spec.workers.count: was removed"});
}

TEST(ApiEvolution, ATypeBreaks) {
  EXPECT_EQ(After(Of(kCount, "/type"), "string"),
            Sentences{"v1alpha1.spec.workers.count: type was \"integer\" and is \"string\" now"});
}

TEST(ApiEvolution, ADefaultBreaks) {
  EXPECT_EQ(After(Of(kCount, "/default"), 2),
            Sentences{"v1alpha1.spec.workers.count: default was 1 and is 2 now"});
  EXPECT_EQ(After(Of(kWorkers, "/properties/min/default"), 1),
            Sentences{"v1alpha1.spec.workers.min: default was unset and is 1 now"});
}

TEST(ApiEvolution, ADefaultObjectMayGetNewFieldsButLoseNone) {
  const std::string policy = "/properties/spec/properties/failurePolicy";
  const Json before =
      ReadCrd(kAccepted)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
                        ["properties"]["failurePolicy"]["default"];
  Json after = before;
  after["grace"] = "5s";
  EXPECT_EQ(After(policy + "/default", after), Sentences{});
  after.erase("window");
  EXPECT_EQ(After(policy + "/default", after).size(), 1u);
}

TEST(ApiEvolution, ATighterLimitBreaks) {
  EXPECT_EQ(After(Of(kCount, "/maximum"), 100),
            Sentences{"v1alpha1.spec.workers.count: maximum was 5000 and is 100 now"});
  EXPECT_EQ(After(Of(kCount, "/minimum"), 2),
            Sentences{"v1alpha1.spec.workers.count: minimum was 1 and is 2 now"});
  EXPECT_EQ(After(Of(kCount, "/pattern"), "^x"),
            Sentences{"v1alpha1.spec.workers.count: the pattern \"^x\" is new"});
}

TEST(ApiEvolution, ANewlyRequiredFieldBreaks) {
  EXPECT_EQ(After(Of(kWorkers, "/required"), Json::array({"min"})),
            Sentences{"v1alpha1.spec.workers.min: is required now"});
}

TEST(ApiEvolution, ARemovedEnumValueBreaks) {
  EXPECT_EQ(After("/properties/spec/properties/trainer/properties/data/properties/format/enum",
                  Json::array({"Text", "Tokens"})),
            Sentences{"v1alpha1.spec.trainer.data.format: the value \"Bytes\" was removed"});
}

TEST(ApiEvolution, ARuleOverOldFieldsBreaks) {
  EXPECT_EQ(
      After(Of(kCount, "/x-kubernetes-validations"), Json::array({{{"rule", "self % 2 == 0"}}})),
      Sentences{"v1alpha1.spec.workers.count: the rule `self % 2 == 0` is new"});
}

TEST(ApiEvolution, NamesAndVersionsStay) {
  const Json before = ReadCrd(kAccepted);
  Json after = before;
  after["spec"]["names"]["shortNames"] = Json::array({"job"});
  after["spec"]["versions"][0]["name"] = "v1";
  EXPECT_EQ(BreakingChanges(before, after),
            (Sentences{"names.shortNames: changed", "v1alpha1: the version was removed"}));
  after = before;
  after["spec"]["versions"][0]["subresources"].erase("scale");
  EXPECT_EQ(BreakingChanges(before, after), Sentences{"v1alpha1: its subresources changed"});
}

}  // namespace
}  // namespace muster::schema
