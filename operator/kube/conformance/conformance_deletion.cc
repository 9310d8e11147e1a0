#include <string>
#include <vector>

#include "operator/kube/conformance/conformance.h"

// Conformance tests of deletion, finalizers and owners.
namespace muster::kube {
namespace {

constexpr char kFinalizer[] = "muster.dev/test";
constexpr char kNobody[] = "00000000-0000-4000-8000-000000000000";

Json OwnedBy(Json object, const ResourceType& type, const Json& owner) {
  std::vector<OwnerReference> owners = OwnersOf(object);
  OwnerReference reference = ControllerReferenceTo(type, owner);
  reference.controller = owners.empty();
  owners.push_back(reference);
  SetOwners(object, owners);
  return object;
}

TEST_P(ConformanceTest, DeleteRemoves) {
  MadeConfigMap("a");
  EXPECT_TRUE(api().Delete(kConfigMaps, Key("a")).ok());
  EXPECT_FALSE(Exists(kConfigMaps, "a"));
}

TEST_P(ConformanceTest, DeleteOfNothingIsNotFound) {
  EXPECT_EQ(ReasonOf(api().Delete(kConfigMaps, Key("absent"))), Reason::kNotFound);
}

TEST_P(ConformanceTest, DeleteChecksTheUid) {
  const Json made = MadeConfigMap("a");
  EXPECT_EQ(ReasonOf(api().Delete(kConfigMaps, Key("a"), {.preconditions = {.uid = kNobody}})),
            Reason::kConflict);
  EXPECT_TRUE(Exists(kConfigMaps, "a"));
  EXPECT_TRUE(api().Delete(kConfigMaps, Key("a"), {.preconditions = {.uid = UidOf(made)}}).ok());
  EXPECT_FALSE(Exists(kConfigMaps, "a"));
}

TEST_P(ConformanceTest, DeleteChecksTheResourceVersion) {
  const Json made = MadeConfigMap("a");
  ASSERT_TRUE(api().PatchMetadata(kConfigMaps, Key("a"), {{"labels", {{"a", "b"}}}}).ok());
  const DeleteOptions stale{.preconditions = {.resource_version = ResourceVersionOf(made)}};
  EXPECT_EQ(ReasonOf(api().Delete(kConfigMaps, Key("a"), stale)), Reason::kConflict);
  EXPECT_TRUE(Exists(kConfigMaps, "a"));
}

TEST_P(ConformanceTest, TheSameNameAgainIsAnotherObject) {
  const Json first = MadeConfigMap("a");
  ASSERT_TRUE(api().Delete(kConfigMaps, Key("a")).ok());
  const Json second = MadeConfigMap("a");
  EXPECT_NE(UidOf(first), UidOf(second));
  EXPECT_EQ(ReasonOf(api().Update(kConfigMaps, first).status()), Reason::kConflict);
}

TEST_P(ConformanceTest, AFinalizerKeepsADeletedObject) {
  Json object = ConfigMap("a");
  SetFinalizers(object, {kFinalizer});
  Made(kConfigMaps, object);
  ASSERT_TRUE(api().Delete(kConfigMaps, Key("a")).ok());
  object = Stored(kConfigMaps, "a");
  EXPECT_TRUE(IsTerminating(object));
  EXPECT_EQ(ReasonOf(api().Create(kConfigMaps, ConfigMap("a")).status()), Reason::kAlreadyExists);
  SetFinalizers(object, {});
  EXPECT_TRUE(api().Update(kConfigMaps, object).ok());
  EXPECT_FALSE(Exists(kConfigMaps, "a"));
}

TEST_P(ConformanceTest, EveryFinalizerMustGo) {
  Json object = ConfigMap("a");
  SetFinalizers(object, {kFinalizer, "muster.dev/other"});
  Made(kConfigMaps, object);
  ASSERT_TRUE(api().Delete(kConfigMaps, Key("a")).ok());
  const auto keep = [&](const Json& finalizers) {
    return api().PatchMetadata(kConfigMaps, Key("a"), {{"finalizers", finalizers}}).ok();
  };
  EXPECT_TRUE(keep({"muster.dev/other"}));
  EXPECT_TRUE(Exists(kConfigMaps, "a"));
  EXPECT_TRUE(keep(nullptr));
  EXPECT_FALSE(Exists(kConfigMaps, "a"));
}

TEST_P(ConformanceTest, ADeletedObjectTakesNoNewFinalizer) {
  Json object = ConfigMap("a");
  SetFinalizers(object, {kFinalizer});
  Made(kConfigMaps, object);
  ASSERT_TRUE(api().Delete(kConfigMaps, Key("a")).ok());
  object = Stored(kConfigMaps, "a");
  SetFinalizers(object, {kFinalizer, "muster.dev/new"});
  EXPECT_EQ(ReasonOf(api().Update(kConfigMaps, object).status()), Reason::kInvalid);
  SetFinalizers(object, {});
  EXPECT_TRUE(api().Update(kConfigMaps, object).ok());
}

TEST_P(ConformanceTest, ADeletionCannotBeTakenBack) {
  Json object = ConfigMap("a");
  SetFinalizers(object, {kFinalizer});
  Made(kConfigMaps, object);
  ASSERT_TRUE(api().Delete(kConfigMaps, Key("a")).ok());
  object = Stored(kConfigMaps, "a");
  object["metadata"].erase("deletionTimestamp");
  object["data"]["key"] = "still writable";
  EXPECT_TRUE(api().Update(kConfigMaps, object).ok());
  EXPECT_TRUE(IsTerminating(Stored(kConfigMaps, "a")));
}

TEST_P(ConformanceTest, DeletingTwiceChangesNothing) {
  Json object = ConfigMap("a");
  SetFinalizers(object, {kFinalizer});
  Made(kConfigMaps, object);
  ASSERT_TRUE(api().Delete(kConfigMaps, Key("a")).ok());
  const Json first = Stored(kConfigMaps, "a");
  EXPECT_TRUE(api().Delete(kConfigMaps, Key("a")).ok());
  EXPECT_EQ(Stored(kConfigMaps, "a"), first);
}

TEST_P(ConformanceTest, ADeletionRaisesTheGeneration) {
  Json job = Job("a");
  SetFinalizers(job, {kFinalizer});
  Made(kTrainingJobs, job);
  ASSERT_TRUE(api().Delete(kTrainingJobs, Key("a")).ok());
  EXPECT_EQ(GenerationOf(Stored(kTrainingJobs, "a")), 2);
}

TEST_P(ConformanceTest, DependentsGoWithTheirOwner) {
  const Json owner = MadeConfigMap("owner");
  Made(kPods, OwnedBy(Pod("pod"), kConfigMaps, owner));
  Made(kConfigMaps, OwnedBy(ConfigMap("map"), kConfigMaps, owner));
  MadeConfigMap("stranger");
  ASSERT_TRUE(
      api().Delete(kConfigMaps, Key("owner"), {.propagation = Propagation::kBackground}).ok());
  EXPECT_TRUE(GoneSoon(kPods, "pod"));
  EXPECT_TRUE(GoneSoon(kConfigMaps, "map"));
  EXPECT_TRUE(Exists(kConfigMaps, "stranger"));
}

TEST_P(ConformanceTest, OwnersAreTheirUidsNotTheirNames) {
  const Json old = MadeConfigMap("owner");
  Made(kConfigMaps, OwnedBy(ConfigMap("dependent"), kConfigMaps, old));
  ASSERT_TRUE(api().Delete(kConfigMaps, Key("owner")).ok());
  MadeConfigMap("owner");
  EXPECT_TRUE(GoneSoon(kConfigMaps, "dependent"));
  EXPECT_TRUE(Exists(kConfigMaps, "owner"));
}

TEST_P(ConformanceTest, AnObjectWhoseOwnerNeverWasIsCollected) {
  Json owner = ConfigMap("never");
  owner["metadata"]["uid"] = kNobody;
  Made(kConfigMaps, OwnedBy(ConfigMap("dependent"), kConfigMaps, owner));
  EXPECT_TRUE(GoneSoon(kConfigMaps, "dependent"));
}

TEST_P(ConformanceTest, OneLivingOwnerIsEnough) {
  const Json first = MadeConfigMap("first");
  const Json second = MadeConfigMap("second");
  Made(kConfigMaps,
       OwnedBy(OwnedBy(ConfigMap("dependent"), kConfigMaps, first), kConfigMaps, second));
  ASSERT_TRUE(api().Delete(kConfigMaps, Key("first")).ok());
  EXPECT_TRUE(Soon([&] { return OwnersOf(Stored(kConfigMaps, "dependent")).size() == 1; }));
  ASSERT_TRUE(api().Delete(kConfigMaps, Key("second")).ok());
  EXPECT_TRUE(GoneSoon(kConfigMaps, "dependent"));
}

TEST_P(ConformanceTest, OrphansStayWithoutAnOwner) {
  const Json owner = MadeConfigMap("owner");
  Made(kConfigMaps, OwnedBy(ConfigMap("dependent"), kConfigMaps, owner));
  ASSERT_TRUE(api().Delete(kConfigMaps, Key("owner"), {.propagation = Propagation::kOrphan}).ok());
  EXPECT_TRUE(GoneSoon(kConfigMaps, "owner"));
  EXPECT_TRUE(OwnersOf(Stored(kConfigMaps, "dependent")).empty());
}

TEST_P(ConformanceTest, ForegroundDeletionWaitsForDependents) {
  const Json owner = MadeConfigMap("owner");
  Json dependent = OwnedBy(ConfigMap("dependent"), kConfigMaps, owner);
  SetFinalizers(dependent, {kFinalizer});
  Made(kConfigMaps, dependent);
  ASSERT_TRUE(
      api().Delete(kConfigMaps, Key("owner"), {.propagation = Propagation::kForeground}).ok());
  EXPECT_TRUE(Soon([&] { return IsTerminating(Stored(kConfigMaps, "dependent")); }));
  EXPECT_TRUE(Exists(kConfigMaps, "owner"));
  ASSERT_TRUE(api().PatchMetadata(kConfigMaps, Key("dependent"), {{"finalizers", nullptr}}).ok());
  EXPECT_TRUE(GoneSoon(kConfigMaps, "dependent"));
  EXPECT_TRUE(GoneSoon(kConfigMaps, "owner"));
}

TEST_P(ConformanceTest, CollectionGoesDownAChain) {
  const Json a = MadeConfigMap("a");
  const Json b = Made(kConfigMaps, OwnedBy(ConfigMap("b"), kConfigMaps, a));
  Made(kConfigMaps, OwnedBy(ConfigMap("c"), kConfigMaps, b));
  ASSERT_TRUE(api().Delete(kConfigMaps, Key("a")).ok());
  EXPECT_TRUE(GoneSoon(kConfigMaps, "c"));
  EXPECT_TRUE(GoneSoon(kConfigMaps, "b"));
}

}  // namespace
}  // namespace muster::kube
