#include <string>

#include "operator/kube/conformance/conformance.h"
#include "operator/kube/field_mask.h"
#include "operator/kube/object_meta.h"
#include "operator/kube/resource_type.h"

// Conformance tests of creating, reading and changing one object.
namespace muster::kube {
namespace {

TEST_P(ConformanceTest, CreateReturnsWhatTheServerSet) {
  const Json made = MadeConfigMap("a");
  EXPECT_EQ(StringAt(made, {"kind"}), "ConfigMap");
  EXPECT_EQ(StringAt(made, {"apiVersion"}), "v1");
  EXPECT_EQ(UidOf(made).size(), 36u);
  EXPECT_FALSE(ResourceVersionOf(made).empty());
  EXPECT_TRUE(CreationTimeOf(made).has_value());
  EXPECT_EQ(StringAt(made, {"data", "key"}), "value");
}

TEST_P(ConformanceTest, CreateOfAnExistingNameIsAlreadyExists) {
  MadeConfigMap("a");
  const absl::Status again = api().Create(kConfigMaps, ConfigMap("a")).status();
  EXPECT_EQ(again.code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(ReasonOf(again), Reason::kAlreadyExists);
}

TEST_P(ConformanceTest, GenerateNameMakesDistinctNames) {
  Json object = ConfigMap("");
  object["metadata"].erase("name");
  object["metadata"]["generateName"] = "event-";
  const std::string first = NameOf(Made(kConfigMaps, object));
  const std::string second = NameOf(Made(kConfigMaps, object));
  EXPECT_EQ(first.substr(0, 6), "event-");
  EXPECT_EQ(first.size(), 11u);
  EXPECT_NE(first, second);
}

TEST_P(ConformanceTest, CreateRefusesABadName) {
  for (const char* name : {"Upper", "under_score", "-dash", "dash-", "a..b", "spa ce"}) {
    const absl::Status status = api().Create(kConfigMaps, ConfigMap(name)).status();
    EXPECT_EQ(ReasonOf(status), Reason::kInvalid) << name;
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << name;
  }
}

TEST_P(ConformanceTest, CreateNeedsAName) {
  Json object = ConfigMap("");
  object["metadata"].erase("name");
  EXPECT_EQ(ReasonOf(api().Create(kConfigMaps, object).status()), Reason::kInvalid);
}

TEST_P(ConformanceTest, CreateRefusesAResourceVersion) {
  Json object = ConfigMap("a");
  SetResourceVersion(object, "5");
  EXPECT_FALSE(api().Create(kConfigMaps, object).ok());
  EXPECT_FALSE(Exists(kConfigMaps, "a"));
}

TEST_P(ConformanceTest, CreateRefusesAnotherKind) {
  Json object = ConfigMap("a");
  object["kind"] = "Secret";
  EXPECT_EQ(ReasonOf(api().Create(kConfigMaps, object).status()), Reason::kBadRequest);
}

TEST_P(ConformanceTest, CreateRefusesBadLabels) {
  Json object = ConfigMap("a");
  SetLabel(object, "key", "not a value");
  EXPECT_EQ(ReasonOf(api().Create(kConfigMaps, object).status()), Reason::kInvalid);
  object = ConfigMap("a");
  SetLabel(object, "bad key", "value");
  EXPECT_EQ(ReasonOf(api().Create(kConfigMaps, object).status()), Reason::kInvalid);
}

TEST_P(ConformanceTest, CreateIgnoresServerFieldsOfTheClient) {
  Json object = ConfigMap("a");
  object["metadata"]["uid"] = "00000000-0000-4000-8000-000000000000";
  object["metadata"]["deletionTimestamp"] = "2020-01-01T00:00:00Z";
  const Json made = Made(kConfigMaps, object);
  EXPECT_NE(UidOf(made), "00000000-0000-4000-8000-000000000000");
  EXPECT_FALSE(IsTerminating(made));
}

TEST_P(ConformanceTest, GetOfNothingIsNotFound) {
  const absl::Status status = api().Get(kConfigMaps, Key("absent")).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(ReasonOf(status), Reason::kNotFound);
}

TEST_P(ConformanceTest, GetReturnsWhatCreateReturned) {
  const Json made = MadeConfigMap("a");
  EXPECT_EQ(Stored(kConfigMaps, "a"), made);
  EXPECT_EQ(Find(made, {"metadata", "managedFields"}), nullptr);
}

TEST_P(ConformanceTest, UpdateRaisesTheVersion) {
  Json object = MadeConfigMap("a");
  object["data"]["key"] = "other";
  const absl::StatusOr<Json> updated = api().Update(kConfigMaps, object);
  ASSERT_TRUE(updated.ok()) << updated.status();
  EXPECT_EQ(StringAt(*updated, {"data", "key"}), "other");
  EXPECT_EQ(UidOf(*updated), UidOf(object));
  EXPECT_GT(*ParseResourceVersion(ResourceVersionOf(*updated)),
            *ParseResourceVersion(ResourceVersionOf(object)));
}

TEST_P(ConformanceTest, UpdateOfAnOldVersionIsAConflict) {
  Json object = MadeConfigMap("a");
  object["data"]["key"] = "first";
  ASSERT_TRUE(api().Update(kConfigMaps, object).ok());
  object["data"]["key"] = "second";
  const absl::Status status = api().Update(kConfigMaps, object).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kAborted);
  EXPECT_EQ(ReasonOf(status), Reason::kConflict);
  EXPECT_EQ(StringAt(Stored(kConfigMaps, "a"), {"data", "key"}), "first");
}

TEST_P(ConformanceTest, UpdateOfAnotherUidIsAConflict) {
  Json object = MadeConfigMap("a");
  object["metadata"].erase("resourceVersion");
  object["metadata"]["uid"] = "00000000-0000-4000-8000-000000000000";
  EXPECT_EQ(ReasonOf(api().Update(kConfigMaps, object).status()), Reason::kConflict);
}

TEST_P(ConformanceTest, UpdateOfNothingIsNotFound) {
  EXPECT_EQ(ReasonOf(api().Update(kConfigMaps, ConfigMap("absent")).status()), Reason::kNotFound);
}

TEST_P(ConformanceTest, UpdateWithoutAVersionIsUnconditionalForConfigMaps) {
  Json object = MadeConfigMap("a");
  object["metadata"].erase("resourceVersion");
  object["data"]["key"] = "forced";
  EXPECT_TRUE(api().Update(kConfigMaps, object).ok());
  EXPECT_EQ(StringAt(Stored(kConfigMaps, "a"), {"data", "key"}), "forced");
}

TEST_P(ConformanceTest, UpdateWithoutAVersionIsInvalidForTrainingJobs) {
  Json object = MadeJob("a");
  object["metadata"].erase("resourceVersion");
  EXPECT_EQ(ReasonOf(api().Update(kTrainingJobs, object).status()), Reason::kInvalid);
}

TEST_P(ConformanceTest, UpdateThatChangesNothingKeepsTheVersion) {
  const Json object = MadeConfigMap("a");
  const absl::StatusOr<Json> updated = api().Update(kConfigMaps, object);
  ASSERT_TRUE(updated.ok()) << updated.status();
  EXPECT_EQ(ResourceVersionOf(*updated), ResourceVersionOf(object));
}

TEST_P(ConformanceTest, UpdateCannotChangeServerFields) {
  Json object = MadeConfigMap("a");
  const Json before = object;
  object["metadata"]["creationTimestamp"] = "2001-01-01T00:00:00Z";
  const absl::StatusOr<Json> updated = api().Update(kConfigMaps, object);
  ASSERT_TRUE(updated.ok()) << updated.status();
  EXPECT_EQ(*updated, before);
  object["metadata"]["deletionTimestamp"] = "2001-01-01T00:00:00Z";
  EXPECT_EQ(ReasonOf(api().Update(kConfigMaps, object).status()), Reason::kInvalid);
}

TEST_P(ConformanceTest, StatusIsIgnoredOnCreate) {
  Json object = Job("a");
  object["status"] = {{"round", 7}};
  EXPECT_EQ(Find(Made(kTrainingJobs, object), {"status", "round"}), nullptr);
}

TEST_P(ConformanceTest, UpdateIgnoresStatus) {
  Json object = MadeJob("a");
  object["status"] = {{"round", 7}};
  object["spec"]["workers"]["count"] = 3;
  ASSERT_TRUE(api().Update(kTrainingJobs, object).ok());
  const Json stored = Stored(kTrainingJobs, "a");
  EXPECT_EQ(stored["spec"]["workers"]["count"], 3);
  EXPECT_EQ(Find(stored, {"status", "round"}), nullptr);
}

TEST_P(ConformanceTest, UpdateStatusIgnoresEverythingElse) {
  Json object = MadeJob("a");
  object["status"] = {{"round", 7}};
  object["spec"]["workers"]["count"] = 3;
  SetLabel(object, "new", "label");
  ASSERT_TRUE(api().UpdateStatus(kTrainingJobs, object).ok());
  const Json stored = Stored(kTrainingJobs, "a");
  EXPECT_EQ(stored["spec"]["workers"]["count"], 2);
  EXPECT_EQ(stored["status"]["round"], 7);
  EXPECT_EQ(LabelOf(stored, "new"), "");
}

TEST_P(ConformanceTest, UpdateStatusOfAnOldVersionIsAConflict) {
  Json object = MadeJob("a");
  object["status"] = {{"round", 1}};
  ASSERT_TRUE(api().UpdateStatus(kTrainingJobs, object).ok());
  object["status"] = {{"round", 2}};
  EXPECT_EQ(ReasonOf(api().UpdateStatus(kTrainingJobs, object).status()), Reason::kConflict);
  EXPECT_EQ(Stored(kTrainingJobs, "a")["status"]["round"], 1);
}

TEST_P(ConformanceTest, UpdateAndUpdateStatusShareOneVersion) {
  Json object = MadeJob("a");
  Json status = object;
  status["status"] = {{"round", 1}};
  ASSERT_TRUE(api().UpdateStatus(kTrainingJobs, status).ok());
  object["spec"]["workers"]["count"] = 3;
  EXPECT_EQ(ReasonOf(api().Update(kTrainingJobs, object).status()), Reason::kConflict);
}

TEST_P(ConformanceTest, OnlySpecChangesRaiseTheGeneration) {
  Json object = MadeJob("a");
  EXPECT_EQ(GenerationOf(object), 1);
  SetLabel(object, "a", "b");
  object = *api().Update(kTrainingJobs, object);
  EXPECT_EQ(GenerationOf(object), 1);
  object["status"] = {{"round", 1}};
  object = *api().UpdateStatus(kTrainingJobs, object);
  EXPECT_EQ(GenerationOf(object), 1);
  object["spec"]["workers"]["count"] = 3;
  object["metadata"]["generation"] = 40;
  object = *api().Update(kTrainingJobs, object);
  EXPECT_EQ(GenerationOf(object), 2);
}

TEST_P(ConformanceTest, PatchMetadataMergesAndRemoves) {
  Json object = ConfigMap("a");
  SetLabel(object, "stays", "1");
  SetLabel(object, "goes", "1");
  object = Made(kConfigMaps, object);
  const Json patch = {{"labels", {{"goes", nullptr}, {"new", "2"}}},
                      {"annotations", {{"note", "text"}}}};
  const absl::StatusOr<Json> patched = api().PatchMetadata(kConfigMaps, Key("a"), patch);
  ASSERT_TRUE(patched.ok()) << patched.status();
  EXPECT_EQ(LabelsOf(*patched), (Labels{{"new", "2"}, {"stays", "1"}}));
  EXPECT_EQ(AnnotationOf(*patched, "note"), "text");
  EXPECT_EQ(StringAt(*patched, {"data", "key"}), "value");
}

TEST_P(ConformanceTest, PatchMetadataChecksItsPreconditions) {
  const Json before = MadeConfigMap("a");
  const Json patch = {{"labels", {{"a", "b"}}}};
  ASSERT_TRUE(api().PatchMetadata(kConfigMaps, Key("a"), patch, {UidOf(before), ""}).ok());
  const Json other = {{"labels", {{"a", "c"}}}};
  const auto stale =
      api().PatchMetadata(kConfigMaps, Key("a"), other, {"", ResourceVersionOf(before)});
  EXPECT_EQ(ReasonOf(stale.status()), Reason::kConflict);
  const auto foreign = api().PatchMetadata(kConfigMaps, Key("a"), other,
                                           {"00000000-0000-4000-8000-000000000000", ""});
  EXPECT_EQ(ReasonOf(foreign.status()), Reason::kConflict);
  EXPECT_EQ(LabelOf(Stored(kConfigMaps, "a"), "a"), "b");
}

TEST_P(ConformanceTest, PatchMergesTheWholeObject) {
  const Json before = MadeConfigMap("a");
  const Json patch = {{"data", {{"key", nullptr}, {"new", "2"}}}};
  const absl::StatusOr<Json> patched =
      api().Patch(kConfigMaps, Key("a"), patch, {UidOf(before), ResourceVersionOf(before)});
  ASSERT_TRUE(patched.ok()) << patched.status();
  EXPECT_EQ((*patched)["data"], (Json{{"new", "2"}}));
  EXPECT_EQ(UidOf(*patched), UidOf(before));
  const auto stale = api().Patch(kConfigMaps, Key("a"), {{"data", {{"new", "3"}}}},
                                 {"", ResourceVersionOf(before)});
  EXPECT_EQ(ReasonOf(stale.status()), Reason::kConflict);
  EXPECT_EQ((Stored(kConfigMaps, "a")["data"]), (Json{{"new", "2"}}));
  EXPECT_EQ(ReasonOf(api().Patch(kConfigMaps, Key("a"), Json("text")).status()),
            Reason::kBadRequest);
}

TEST_P(ConformanceTest, PatchMetadataOfNothingIsNotFound) {
  EXPECT_EQ(ReasonOf(api().PatchMetadata(kConfigMaps, Key("absent"), Json::object()).status()),
            Reason::kNotFound);
}

TEST_P(ConformanceTest, NodesKeepTheStatusTheyAreCreatedWith) {
  const std::string name = "node-" + environment().Unique();
  Json node = NewObject(kNodes, {"", name});
  node["status"] = {{"capacity", {{"cpu", "2"}}}};
  const Json made = Made(kNodes, node);
  EXPECT_EQ(StringAt(made, {"status", "capacity", "cpu"}), "2");
  EXPECT_EQ(NamespaceOf(made), "");
  EXPECT_TRUE(api().Delete(kNodes, {"", name}).ok());
}

TEST_P(ConformanceTest, OfTwoWritersOfALeaseOneWins) {
  Json lease = NewObject(kLeases, Key("leader"));
  lease["spec"] = {{"holderIdentity", "a"}, {"leaseDurationSeconds", 15}, {"leaseTransitions", 1}};
  lease = Made(kLeases, lease);
  Json first = lease;
  Json second = lease;
  first["spec"]["holderIdentity"] = "b";
  second["spec"]["holderIdentity"] = "c";
  EXPECT_TRUE(api().Update(kLeases, first).ok());
  EXPECT_EQ(ReasonOf(api().Update(kLeases, second).status()), Reason::kConflict);
  EXPECT_EQ(StringAt(Stored(kLeases, "leader"), {"spec", "holderIdentity"}), "b");
}

TEST_P(ConformanceTest, ALeaseDurationMustBePositive) {
  Json lease = NewObject(kLeases, Key("leader"));
  lease["spec"] = {{"holderIdentity", "a"}, {"leaseDurationSeconds", 0}};
  EXPECT_EQ(ReasonOf(api().Create(kLeases, lease).status()), Reason::kInvalid);
}

TEST_P(ConformanceTest, WritesReturnTheFieldsThatAreAskedFor) {
  const CallOptions call{.fields = &IdentityFields()};
  for (const ResourceType& type : {kPods, kConfigMaps, kTrainingJobs}) {
    const Json object = type == kPods ? Pod("a") : type == kConfigMaps ? ConfigMap("a") : Job("a");
    const auto made = api().Create(type, object, call);
    ASSERT_TRUE(made.ok()) << made.status();
    EXPECT_EQ(KeyOf(*made), Key("a"));
    EXPECT_EQ(StringAt(*made, {"kind"}), type.kind);
    EXPECT_FALSE(UidOf(*made).empty());
    const auto patched = api().PatchMetadata(type, Key("a"), {{"labels", {{"x", "y"}}}}, {}, call);
    ASSERT_TRUE(patched.ok()) << patched.status();
    EXPECT_EQ(UidOf(*patched), UidOf(*made));
    EXPECT_GT(*ParseResourceVersion(ResourceVersionOf(*patched)),
              *ParseResourceVersion(ResourceVersionOf(*made)));
    const auto updated = api().Update(type, Stored(type, "a"), call);
    ASSERT_TRUE(updated.ok()) << updated.status();
    EXPECT_EQ(ResourceVersionOf(*updated), ResourceVersionOf(Stored(type, "a")));
    EXPECT_EQ(ResourceVersionOf(*api().Get(type, Key("a"), call)), ResourceVersionOf(*updated));
  }
}

}  // namespace
}  // namespace muster::kube
