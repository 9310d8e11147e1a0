#include "operator/api/codec.h"

#include <gtest/gtest.h>

#include <limits>

#include "absl/status/statusor.h"
#include "base/field_error.h"
#include "base/json.h"
#include "proto/muster/v1alpha1/training_job.pb.h"

namespace muster::control {
namespace {

using v1alpha1::TrainingJobSpec;
using v1alpha1::TrainingJobStatus;

Json Parse(const char* text) { return *ParseJson(text); }

TrainingJobSpec Decode(const Json& json) {
  TrainingJobSpec spec;
  EXPECT_EQ(DecodeMessage(json, "spec", UnknownFields::kReport, spec), FieldErrors());
  return spec;
}

TEST(DecodeMessage, ReadsEveryKindOfField) {
  const TrainingJobSpec spec = Decode(Parse(R"({
    "workers": {"count": 3},
    "trainer": {"optimizer": {"learningRate": 0.5, "warmupSteps": 9007199254740993}},
    "suspend": true,
    "activeDeadline": "12h"})"));
  EXPECT_EQ(spec.workers().count(), 3);
  EXPECT_FALSE(spec.workers().has_min());
  EXPECT_EQ(spec.trainer().optimizer().learning_rate(), 0.5);
  EXPECT_EQ(spec.trainer().optimizer().warmup_steps(), 9007199254740993);
  EXPECT_TRUE(spec.suspend());
  EXPECT_EQ(spec.active_deadline(), "12h");
  EXPECT_FALSE(spec.has_checkpoint());
}

TEST(DecodeMessage, ABoundOfZeroIsNotOneThatIsLeftOut) {
  const Json bounds = Parse(R"({"spot": {"maxFraction": 0, "onDemandFloor": 0}})");
  const TrainingJobSpec spec = Decode(bounds);
  EXPECT_TRUE(spec.spot().has_max_fraction());
  EXPECT_TRUE(spec.spot().has_on_demand_floor());
  EXPECT_EQ(EncodeMessage(spec), bounds);
  EXPECT_FALSE(Decode(Parse(R"({"spot": {}})")).spot().has_max_fraction());
}

TEST(DecodeMessage, KeepsAPodTemplateWhole) {
  const Json pod =
      Parse(R"({"spec": {"containers": [{"name": "worker", "x": null}], "y": [1, 2.5]}})");
  const TrainingJobSpec spec = Decode(Json::object({{"template", pod}}));
  EXPECT_EQ(spec.template_().raw(), DumpJson(pod));
  EXPECT_EQ(EncodeMessage(spec)["template"], pod);
}

TEST(DecodeMessage, EmptyObjectsArePresent) {
  const TrainingJobSpec spec = Decode(Parse(R"({"elastic": {}})"));
  EXPECT_TRUE(spec.has_elastic());
  EXPECT_EQ(EncodeMessage(spec), Parse(R"({"elastic": {}})"));
}

TEST(DecodeMessage, NullIsAbsent) {
  const TrainingJobSpec spec = Decode(Parse(R"({"suspend": null, "workers": null})"));
  EXPECT_FALSE(spec.has_suspend());
  EXPECT_FALSE(spec.has_workers());
}

TEST(DecodeMessage, WholeFloatsAreIntegers) {
  EXPECT_EQ(Decode(Parse(R"({"workers": {"count": 2.0}})")).workers().count(), 2);
  EXPECT_EQ(Decode(Parse(R"({"trainer": {"train": {"steps": 1e6}}})")).trainer().train().steps(),
            1000000);
}

TEST(DecodeMessage, ReportsAllErrorsWithPaths) {
  TrainingJobStatus status;
  EXPECT_EQ(
      DecodeMessage(Parse(R"({
      "conditions": [{"type": "Ready"}, {"type": 1}, 2],
      "incarnations": [0, "x", 99999999999],
      "failures": {"times": ["a", false]},
      "phase": "x"})"),
                    "status", UnknownFields::kReport, status),
      (FieldErrors{
          {"status.conditions[1].type", "want a string, got 1"},
          {"status.conditions[2]", "want an object, got 2"},
          {"status.failures.times[1]", "want a string, got false"},
          {"status.incarnations[1]", "want an integer, got the string \"x\""},
          {"status.incarnations[2]", "want an integer of 32 bits, got 99999999999"},
          {"status.phase",
           "unknown field; the fields here are conditions, observedGeneration, term, round, "
           "membership, workers, progress, checkpoint, failures, incarnations, startTime, "
           "completionTime, selector, state, placement, preemption, activeSeconds, activeSince, "
           "alerts, elastic, resize, ledger, resume, cost, swap and tunings"},
      }));
}

TEST(DecodeMessage, IgnoresUnknownFieldsWhenTold) {
  TrainingJobSpec spec;
  EXPECT_EQ(DecodeMessage(Parse(R"({"queue": "x", "suspend": true})"), "spec",
                          UnknownFields::kIgnore, spec),
            FieldErrors());
  EXPECT_TRUE(spec.suspend());
}

TEST(EncodeMessage, IntegersStayNumbersAndAbsentStaysAbsent) {
  TrainingJobStatus status;
  status.set_observed_generation(9007199254740993);
  status.add_incarnations(2);
  status.mutable_progress()->set_loss(2.5);
  EXPECT_EQ(
      DumpJson(EncodeMessage(status)),
      R"({"incarnations":[2],"observedGeneration":9007199254740993,"progress":{"loss":2.5}})");
}

TEST(EncodeMessage, LeavesOutWhatJsonCannotHold) {
  TrainingJobStatus status;
  status.mutable_progress()->set_loss(std::numeric_limits<double>::quiet_NaN());
  status.mutable_progress()->set_tokens_per_second(std::numeric_limits<double>::infinity());
  EXPECT_EQ(EncodeMessage(status), Parse(R"({"progress": {}})"));
}

TEST(EncodeMessageOver, KeepsUnknownFieldsAtEveryDepth) {
  const Json original = Parse(R"({
    "queue": "research",
    "workers": {"count": 2, "topology": {"require": "leaf"}}})");
  TrainingJobSpec spec;
  DecodeMessage(original, "spec", UnknownFields::kIgnore, spec);
  EXPECT_EQ(EncodeMessage(spec, original), original);
  spec.mutable_workers()->set_count(3);
  spec.set_suspend(true);
  EXPECT_EQ(EncodeMessage(spec, original), Parse(R"({
    "queue": "research", "suspend": true,
    "workers": {"count": 3, "topology": {"require": "leaf"}}})"));
}

TEST(EncodeMessageOver, KeepsTheSpellingOfEqualValues) {
  const Json original = Parse(R"({"trainer": {"optimizer": {"clipNorm": 1}}, "suspend": null})");
  const TrainingJobSpec spec = Decode(original);
  EXPECT_EQ(DumpJson(EncodeMessage(spec, original)), DumpJson(original));
}

TEST(EncodeMessageOver, ErasesWhatWasCleared) {
  const Json original = Parse(R"({"suspend": true, "checkpoint": {"uri": "x"}})");
  TrainingJobSpec spec = Decode(original);
  spec.clear_suspend();
  spec.clear_checkpoint();
  EXPECT_EQ(EncodeMessage(spec, original), Json::object());
}

TEST(EncodeMessageOver, ListsAreKeptUntilTheyChange) {
  const Json original = Parse(R"({
    "conditions": [{"type": "A", "status": "True", "extra": 1}], "incarnations": []})");
  TrainingJobStatus status;
  DecodeMessage(original, "status", UnknownFields::kIgnore, status);
  EXPECT_EQ(EncodeMessage(status, original), original);
  status.mutable_conditions(0)->set_status("False");
  status.add_incarnations(1);
  EXPECT_EQ(EncodeMessage(status, original), Parse(R"({
    "conditions": [{"type": "A", "status": "False"}], "incarnations": [1]})"));
}

TEST(FieldPath, QuotesWhatIsNoPlainName) {
  EXPECT_EQ(FieldPath("spec", "workers"), "spec.workers");
  EXPECT_EQ(FieldPath("", "spec"), "spec");
  EXPECT_EQ(FieldPath("metadata.labels", "a/b"), "metadata.labels[\"a/b\"]");
  EXPECT_EQ(FieldPath("x", "a\"\n"), "x[\"a??\"]");
  EXPECT_EQ(ItemPath("a.b", 3), "a.b[3]");
}

TEST(ToStatus, NamesEveryError) {
  EXPECT_TRUE(ToStatus({}).ok());
  EXPECT_EQ(ToStatus({{"a", "x"}, {"b", "y"}}), absl::InvalidArgumentError("a: x; b: y"));
}

}  // namespace
}  // namespace muster::control
