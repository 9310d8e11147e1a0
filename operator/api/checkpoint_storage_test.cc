#include "operator/api/checkpoint_storage.h"

#include <string>

#include "gtest/gtest.h"

namespace muster::control {
namespace {

constexpr char kTemplate[] = R"({"spec": {
  "containers": [
    {"name": "beside", "volumeMounts": [{"name": "scratch", "mountPath": "/checkpoints/a"}]},
    {"name": "worker", "volumeMounts": [
      {"name": "data", "mountPath": "/"},
      {"name": "shared", "mountPath": "/checkpoints"},
      {"name": "scratch", "mountPath": "/check"}]}],
  "volumes": [
    {"name": "data", "hostPath": {"path": "/data"}},
    {"name": "scratch", "emptyDir": {}},
    {"name": "shared", "persistentVolumeClaim": {"claimName": "big"}}]}})";

v1alpha1::TrainingJobSpec SpecOf(const std::string& uri, const std::string& raw = kTemplate) {
  v1alpha1::TrainingJobSpec spec;
  spec.mutable_checkpoint()->set_uri(uri);
  spec.mutable_template_()->set_raw(raw);
  return spec;
}

TEST(CheckpointStorageTest, AFolderBelongsToTheVolumeThatIsMountedNearestAboveIt) {
  const std::string claim = CheckpointStorage(SpecOf("/checkpoints/a/b"), "team");
  EXPECT_EQ(claim, R"(team {"persistentVolumeClaim":{"claimName":"big"}})");
  EXPECT_EQ(CheckpointStorage(SpecOf("/checkpoints"), "team"), claim);
  EXPECT_EQ(CheckpointStorage(SpecOf("/other"), "team"), R"({"hostPath":{"path":"/data"}})");
  EXPECT_EQ(CheckpointStorage(SpecOf("/check/x"), "team"), R"({"emptyDir":{}})");
}

TEST(CheckpointStorageTest, AClaimIsThatOfItsNamespaceAndAVolumesNameMeansNothing) {
  const auto spec = SpecOf("/checkpoints/a");
  EXPECT_NE(CheckpointStorage(spec, "team"), CheckpointStorage(spec, "others"));
  const std::string renamed = R"({"spec": {
    "containers": [{"name": "worker", "volumeMounts": [{"name": "v", "mountPath": "/c/"}]}],
    "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "big"}}]}})";
  EXPECT_EQ(CheckpointStorage(SpecOf("/c/a", renamed), "team"), CheckpointStorage(spec, "team"));
}

TEST(CheckpointStorageTest, ABucketIsThatOfItsStore) {
  auto spec = SpecOf("s3://bucket/a/b");
  const std::string name = CheckpointStorage(spec, "team");
  EXPECT_EQ(CheckpointStorage(SpecOf("s3://bucket"), "others"), name);
  EXPECT_NE(CheckpointStorage(SpecOf("s3://bucket2/a"), "team"), name);
  spec.mutable_checkpoint()->mutable_s3()->set_endpoint("https://minio:9000");
  EXPECT_NE(CheckpointStorage(spec, "team"), name);
}

TEST(CheckpointStorageTest, WithoutAVolumeItIsTheMachinesDiskAndWithoutCheckpointsNone) {
  EXPECT_EQ(CheckpointStorage(SpecOf("/a", ""), "team"), CheckpointStorage(SpecOf("/b", ""), "x"));
  EXPECT_EQ(CheckpointStorage(SpecOf("/a", "no json"), "team"),
            CheckpointStorage(SpecOf("/a", ""), "x"));
  EXPECT_EQ(CheckpointStorage(v1alpha1::TrainingJobSpec(), "team"), "");
}

}  // namespace
}  // namespace muster::control
