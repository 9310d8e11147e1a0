#include "operator/api/training_job.h"

#include <gtest/gtest.h>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/json.h"

namespace muster::control {
namespace {

Json Stored() {
  return *ParseJson(R"({
    "apiVersion": "muster.dev/v1alpha1",
    "kind": "TrainingJob",
    "metadata": {
      "name": "job", "namespace": "ns", "uid": "u-1", "resourceVersion": "17", "generation": 3,
      "labels": {"a": "b"}, "annotations": {"c": "d"}, "finalizers": ["muster.dev/x"],
      "creationTimestamp": "2024-01-31T12:00:00Z", "deletionTimestamp": "2024-02-01T00:00:00Z",
      "managedFields": [{"manager": "kubectl"}]},
    "spec": {"suspend": true, "queue": "later"},
    "status": {"round": 4, "workers": {"ready": 2, "lost": 1}}})");
}

TEST(ParseTrainingJob, ReadsMetadataSpecAndStatus) {
  const absl::StatusOr<TrainingJob> job = ParseTrainingJob(Stored());
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_EQ(job->name, "job");
  EXPECT_EQ(job->ns, "ns");
  EXPECT_EQ(job->uid, "u-1");
  EXPECT_EQ(job->resource_version, "17");
  EXPECT_EQ(job->generation, 3);
  EXPECT_EQ(job->labels.at("a"), "b");
  EXPECT_EQ(job->annotations.at("c"), "d");
  EXPECT_EQ(job->finalizers, std::vector<std::string>{"muster.dev/x"});
  EXPECT_EQ(job->creation_time, absl::FromUnixSeconds(1706702400));
  EXPECT_TRUE(job->deleting());
  EXPECT_TRUE(job->spec.suspend());
  EXPECT_EQ(job->status.round(), 4);
}

TEST(ParseTrainingJob, RoundTripKeepsWhatItDoesNotKnow) {
  TrainingJob job = *ParseTrainingJob(Stored());
  EXPECT_EQ(ToJson(job), Stored());
  job.status.set_round(5);
  job.finalizers.clear();
  Json expected = Stored();
  expected["status"]["round"] = 5;
  expected["metadata"].erase("finalizers");
  EXPECT_EQ(ToJson(job), expected);
}

TEST(ParseTrainingJob, NamesEveryWrongField) {
  Json json = Stored();
  json["metadata"]["generation"] = "3";
  json["metadata"]["labels"]["a"] = 1;
  json["metadata"]["creationTimestamp"] = "yesterday";
  json["spec"]["suspend"] = "true";
  EXPECT_EQ(ParseTrainingJob(json).status(),
            absl::InvalidArgumentError(
                "metadata.labels.a: want a string, got 1; "
                "metadata.creationTimestamp: want a time like 2024-01-31T12:00:00Z, got the string "
                "\"yesterday\"; "
                "metadata.generation: want an integer, got the string \"3\"; "
                "spec.suspend: want true or false, got the string \"true\""));
}

TEST(ParseTrainingJob, RefusesOtherKinds) {
  EXPECT_EQ(
      ParseTrainingJob(Json{{"apiVersion", "v1"}, {"kind", "Pod"}}).status(),
      absl::InvalidArgumentError("apiVersion: want muster.dev/v1alpha1, got the string \"v1\"; "
                                 "kind: want TrainingJob, got the string \"Pod\""));
  EXPECT_EQ(ParseTrainingJob(Json::array()).status(),
            absl::InvalidArgumentError(": want a TrainingJob, got a list"));
}

TEST(ToJson, OfANewJobHasNoStatus) {
  TrainingJob job;
  job.name = "job";
  job.spec.set_suspend(false);
  EXPECT_EQ(DumpJson(ToJson(job)),
            R"({"apiVersion":"muster.dev/v1alpha1","kind":"TrainingJob","metadata":{"name":"job"},)"
            R"("spec":{"suspend":false}})");
}

TEST(StatusToJson, HoldsTheIdentityAndTheStatusWithUnknownFields) {
  TrainingJob job = *ParseTrainingJob(Stored());
  job.status.set_round(5);
  const Json expected = {
      {"apiVersion", "muster.dev/v1alpha1"},
      {"kind", "TrainingJob"},
      {"metadata",
       {{"name", "job"}, {"namespace", "ns"}, {"uid", "u-1"}, {"resourceVersion", "18"}}},
      {"status", {{"round", 5}, {"workers", {{"ready", 2}, {"lost", 1}}}}}};
  EXPECT_EQ(StatusToJson(job, job.status, "18"), expected);
}

TEST(Timestamps, RoundTrip) {
  const absl::Time time = absl::FromUnixSeconds(1706702400);
  EXPECT_EQ(FormatTimestamp(time), "2024-01-31T12:00:00Z");
  EXPECT_EQ(*ParseTimestamp("2024-01-31T12:00:00Z"), time);
  EXPECT_EQ(*ParseTimestamp("2024-01-31T13:00:00.5+01:00"), time + absl::Milliseconds(500));
  EXPECT_FALSE(ParseTimestamp("2024-01-31").ok());
}

}  // namespace
}  // namespace muster::control
