#include "tools/schema/crd.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/json.h"
#include "proto/muster/v1alpha1/training_job.pb.h"

namespace muster::schema {
namespace {

Json Crd() { return MakeCrd(*v1alpha1::TrainingJob::descriptor()); }

Json Spec() {
  return Crd()["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"];
}

// Collects faults for which an API server may refuse a schema: missing types and bounds, null
// defaults, and unknown required fields.
void CheckStructural(const Json& schema, const std::string& path,
                     std::vector<std::string>& faults) {
  const std::string type = schema.value("type", "");
  if (type.empty()) faults.push_back(path + " has no type");
  if (schema.contains("default") && schema["default"].is_null()) {
    faults.push_back(path + " has a broken default");
  }
  if (type == "array") {
    if (!schema.contains("maxItems")) faults.push_back(path + " has no maxItems");
    CheckStructural(schema["items"], path + "[]", faults);
  }
  if (type == "string" && !schema.contains("maxLength") && !schema.contains("enum")) {
    faults.push_back(path + " has no maxLength");
  }
  if (type != "object") return;
  const Json required = schema.value("required", Json::array());
  const Json properties = schema.value("properties", Json::object());
  for (const Json& name : required) {
    if (!properties.contains(name.get<std::string>())) {
      faults.push_back(absl::StrCat(path, " requires the unknown ", name.get<std::string>()));
    }
  }
  for (const auto& [name, property] : properties.items()) {
    CheckStructural(property, path + "." + name, faults);
  }
}

TEST(MakeCrd, EverythingIsTypedAndBounded) {
  std::vector<std::string> faults;
  const Json root = Crd()["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
  CheckStructural(root["properties"]["spec"], "spec", faults);
  CheckStructural(root["properties"]["status"], "status", faults);
  EXPECT_EQ(faults, std::vector<std::string>());
}

TEST(MakeCrd, NamesTheKind) {
  const Json crd = Crd();
  EXPECT_EQ(crd["metadata"]["name"], "trainingjobs.muster.dev");
  EXPECT_EQ(crd["spec"]["names"]["shortNames"], Json::array({"tj"}));
  EXPECT_EQ(crd["spec"]["names"]["singular"], "trainingjob");
  const Json& version = crd["spec"]["versions"][0];
  EXPECT_EQ(version["subresources"]["scale"]["specReplicasPath"], ".spec.workers.count");
  EXPECT_TRUE(version["subresources"]["status"].is_object());
  EXPECT_EQ(version["additionalPrinterColumns"].size(), 6u);
}

TEST(MakeCrd, CarriesDefaultsBoundsAndEnums) {
  const Json workers = Spec()["properties"]["workers"];
  EXPECT_EQ(workers["properties"]["count"]["default"], 1);
  EXPECT_EQ(workers["properties"]["count"]["minimum"], 1);
  EXPECT_EQ(workers["properties"]["count"]["maximum"], 5000);
  EXPECT_EQ(workers["properties"]["count"]["format"], "int32");
  const Json trainer = Spec()["properties"]["trainer"];
  EXPECT_EQ(trainer["required"], Json::array({"model", "data", "train"}));
  const Json dropout = trainer["properties"]["model"]["properties"]["dropout"];
  EXPECT_EQ(dropout["maximum"], 1);
  EXPECT_EQ(dropout["exclusiveMaximum"], true);
  EXPECT_EQ(trainer["properties"]["optimizer"]["properties"]["name"]["enum"],
            Json::array({"adamw", "lamb", "lion", "muon", "sgd"}));
}

// If a rule is run over a default of {}, an API server refuses the CRD: "no such key: gpus".
TEST(MakeCrd, DefaultsOfObjectsAreWrittenOut) {
  EXPECT_EQ(Spec()["properties"]["workers"]["default"],
            *ParseJson(R"({"count": 1, "gpus": 0, "ranks": 1, "spares": 0})"));
  const Json trainer = Spec()["properties"]["trainer"]["properties"];
  EXPECT_EQ(trainer["optimizer"]["default"]["momentum"], 0);
  EXPECT_EQ(trainer["data"]["properties"]["tokenizer"]["default"],
            *ParseJson(R"({"kind": "Byte"})"));
}

TEST(MakeCrd, DurationsHaveAPatternAndARule) {
  const Json duration = Spec()["properties"]["activeDeadline"];
  EXPECT_EQ(duration["maxLength"], 32);
  EXPECT_EQ(duration["pattern"], "^([0-9]+([.][0-9]+)?(ms|s|m|h))+$");
  EXPECT_EQ(duration["x-kubernetes-validations"][0]["rule"], "duration(self) > duration('0s')");
}

TEST(MakeCrd, ImmutableFieldsAreSaidAtTheirParent) {
  const Json rules =
      Spec()["properties"]["trainer"]["properties"]["train"]["x-kubernetes-validations"];
  bool found = false;
  for (const Json& rule : rules) {
    if (rule.value("fieldPath", "") != ".seed") continue;
    found = true;
    EXPECT_EQ(
        rule["rule"],
        "has(self.seed) == has(oldSelf.seed) && (!has(self.seed) || self.seed == oldSelf.seed)");
    EXPECT_TRUE(absl::StartsWith(rule["message"].get<std::string>(), "must not change: "));
  }
  EXPECT_TRUE(found);
}

TEST(MakeCrd, PodTemplatesArePreserved) {
  const Json pod = Spec()["properties"]["template"];
  EXPECT_EQ(pod["x-kubernetes-preserve-unknown-fields"], true);
  const Json container = pod["properties"]["spec"]["properties"]["containers"]["items"];
  EXPECT_EQ(container["x-kubernetes-preserve-unknown-fields"], true);
  EXPECT_EQ(container["properties"]["command"]["type"], "array");
}

TEST(ExpandPresetMaps, PutsTheTableInPlaceOfItsName) {
  const std::string width = ExpandPresetMaps("$presets.width[self.preset] > 0");
  EXPECT_TRUE(absl::StartsWith(width, "{'gpt2-nano': 64, 'gpt2-micro': 128, ")) << width;
  EXPECT_TRUE(absl::StrContains(width, "'llama-3-405b': 16384")) << width;
  EXPECT_TRUE(absl::EndsWith(width, "'bloom-176b': 14336}[self.preset] > 0")) << width;
}

TEST(ExpandPresetMaps, HeadsWithKeysOfTheirOwnGoWithAnyNumberOfHeads) {
  const std::string shared = ExpandPresetMaps("$presets.keyValueHeads");
  EXPECT_TRUE(absl::StrContains(shared, "'llama-7b': 1,")) << shared;
  EXPECT_TRUE(absl::StrContains(shared, "'llama-2-70b': 8,")) << shared;
}

TEST(ExpandPresetMaps, OtherTextStaysAsItIs) {
  EXPECT_EQ(ExpandPresetMaps("self.name.matches('^a$')"), "self.name.matches('^a$')");
  EXPECT_FALSE(absl::StrContains(ExpandPresetMaps("$presets.family[self.preset]"), "$"));
}

}  // namespace
}  // namespace muster::schema
