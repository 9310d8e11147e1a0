#include "operator/api/validation.h"

#include <gtest/gtest.h>

#include <string>

#include "base/field_error.h"
#include "base/json.h"
#include "operator/api/codec.h"
#include "operator/api/defaults.h"
#include "proto/muster/v1alpha1/training_job.pb.h"

namespace muster::control {
namespace {

using v1alpha1::TrainingJobSpec;
using v1alpha1::TrainingJobStatus;

TrainingJobSpec Spec(const Json& json) {
  TrainingJobSpec spec;
  EXPECT_EQ(DecodeMessage(json, "spec", UnknownFields::kReport, spec), FieldErrors());
  Default(spec);
  return spec;
}

Json Good() {
  return *ParseJson(R"({
    "workers": {"count": 2, "min": 1, "max": 4},
    "trainer": {"model": {"preset": "gpt2-nano"}, "data": {"uri": "x"}, "train": {"steps": 100}},
    "checkpoint": {"uri": "y"}})");
}

TEST(Validate, AcceptsADefaultedJob) { EXPECT_EQ(Validate(Spec(Good())), FieldErrors()); }

TEST(Validate, ATrainerComputesOnAsManyGpusAsItsTemplateAsksFor) {
  Json json = Good();
  json["workers"] = {{"count", 2}, {"gpus", 2}};
  json["workers"]["rdma"] = *ParseJson(R"({"resources": [{"name": "rdma/hca"}]})");
  EXPECT_EQ(Validate(Spec(json)), FieldErrors());
  json["template"] = *ParseJson(R"({"spec": {"containers": [{"name": "worker"}]}})");
  Json& limits = json["template"]["spec"]["containers"][0]["resources"]["limits"];
  for (const char* good :
       {R"({"nvidia.com/gpu": 2})", R"({"nvidia.com/mig-1g.10gb": "2"})", R"({"cpu": 1})",
        R"({"nvidia.com/mig-1g.10gb": 1, "nvidia.com/mig-3g.40gb": "1"})"}) {
    limits = *ParseJson(good);
    EXPECT_EQ(Validate(Spec(json)), FieldErrors()) << good;
  }
  for (const char* bad : {R"({"nvidia.com/gpu": 3})", R"({"nvidia.com/gpu": 0})",
                          R"({"nvidia.com/gpu": 2, "nvidia.com/mig-1g.10gb": "1"})"}) {
    limits = *ParseJson(bad);
    const FieldErrors errors = Validate(Spec(json));
    ASSERT_EQ(errors.size(), 1u) << bad;
    EXPECT_EQ(errors[0].path, "spec.template.spec.containers[0].resources.limits") << bad;
  }
}

TEST(Validate, LeavesTheGpusOfACommandToItsAuthor) {
  Json json = Good();
  json["template"] = *ParseJson(R"({"spec": {"containers": [{"name": "worker",
      "resources": {"requests": {"nvidia.com/mlnxnics": "1", "cpu": 2}}}]}})");
  EXPECT_EQ(Validate(Spec(json)), FieldErrors());
  json.erase("trainer");
  json.erase("checkpoint");
  Json& worker = json["template"]["spec"]["containers"][0];
  worker["command"] = {"python3"};
  for (const char* gpu : {"nvidia.com/gpu", "amd.com/gpu"}) {
    worker["resources"] = {{"limits", {{gpu, 1}}}};
    EXPECT_EQ(Validate(Spec(json)), FieldErrors()) << gpu;
  }
}

TEST(Validate, FindsEveryErrorAtOnce) {
  Json json = Good();
  json["workers"]["min"] = 3;
  json["trainer"]["train"]["steps"] = 0;
  json["trainer"]["optimizer"]["schedule"] = "sine";
  json["checkpoint"]["keep"] = 1;
  EXPECT_EQ(Validate(Spec(json)),
            (FieldErrors{
                {"spec.trainer.train.steps", "is 0; want 1 to 1000000000"},
                {"spec.trainer.optimizer.schedule",
                 "want constant, linear, cosine, wsd or inverseSqrt, got the string \"sine\""},
                {"spec.checkpoint.keep", "is 1; want 2 to 1000"},
                {"spec.workers.min", "must not be more than workers.count (here 3 and 2)"},
            }));
}

TEST(Validate, RulesSkipFieldsThatCouldNotBeRead) {
  Json json = Good();
  json["workers"]["min"] = 3;
  const TrainingJobSpec spec = Spec(json);
  EXPECT_EQ(Validate(spec, "spec", {{"spec.workers.cuont", "unknown field"}}), FieldErrors());
  EXPECT_EQ(Validate(spec, "spec", {{"spec.workers", "want an object"}}), FieldErrors());
  EXPECT_EQ(Validate(spec, "spec", {{"spec.elastic.rankDeadline", "bad"}}).size(), 1u);
}

TEST(Validate, BoundsAreInclusiveUnlessTheySayOtherwise) {
  Json json = Good();
  json["trainer"]["data"]["validation"] = 0.5;
  json["trainer"]["model"]["dropout"] = 0.999;
  json["trainer"]["optimizer"]["learningRate"] = 1e-12;
  EXPECT_EQ(Validate(Spec(json)), FieldErrors());
}

TEST(Validate, TemplatesAreCheckedAsFarAsTheyAreRead) {
  Json json = *ParseJson(R"({"template": {"spec": {
    "containers": [{"name": "worker", "command": ["x"], "anything": {"goes": 1}}, {"name": ""}],
    "nodeSelector": {"a": 1}}}})");
  EXPECT_EQ(Validate(Spec(json)),
            (FieldErrors{{"spec.template.spec.containers[1].name", "must not be empty"}}));
  json["template"]["spec"]["containers"][0]["workingDir"] = std::string(5000, 'x');
  EXPECT_EQ(Validate(Spec(json))[0].message, "is 5000 characters long; want at most 4096");
  json["template"]["spec"]["containers"] = Json::array();
  for (int i = 0; i < 17; ++i) json["template"]["spec"]["containers"].push_back({{"name", "a"}});
  EXPECT_EQ(Validate(Spec(json))[0].message, "has 17 items; want at most 16");
}

TEST(ValidateFields, ChecksStatus) {
  TrainingJobStatus status;
  status.set_state("Sleeping");
  status.mutable_failures()->set_evidence(std::string(8193, 'x'));
  for (int i = 0; i < 33; ++i) {
    v1alpha1::Condition* condition = status.add_conditions();
    condition->set_type("T" + std::to_string(i));
    condition->set_status("True");
  }
  status.mutable_conditions(2)->clear_status();
  EXPECT_EQ(
      ValidateFields(status, "status"),
      (FieldErrors{
          {"status.conditions", "has 33 items; want at most 32"},
          {"status.conditions[2].status", "is required and missing; want True, False or Unknown"},
          {"status.failures.evidence", "is 8193 characters long; want at most 8192"},
          {"status.state",
           "want Pending, Starting, Training, Recovering, Suspended, Succeeded, Failed or Queued, "
           "got "
           "the string \"Sleeping\""},
      }));
}

TEST(ValidateUpdate, AllowsWhatMayChange) {
  Json after = Good();
  after["workers"]["count"] = 4;
  after["trainer"]["train"]["steps"] = 200;
  after["trainer"]["optimizer"]["learningRate"] = 0.1;
  after["suspend"] = true;
  EXPECT_EQ(ValidateUpdate(Spec(Good()), Spec(after)), FieldErrors());
}

TEST(ValidateUpdate, NamesWhatMayNot) {
  Json after = Good();
  after["workers"]["ranks"] = 2;
  after["trainer"]["model"]["layers"] = 5;
  after["trainer"]["train"]["microBatch"] = 2;
  EXPECT_EQ(
      ValidateUpdate(Spec(Good()), Spec(after)),
      (FieldErrors{
          {"spec.workers.ranks",
           "must not change (it is 1): the ranks of a worker are fixed when the job is made"},
          {"spec.trainer.model",
           "must not change: the model is fixed when the job is made: make a new job instead"},
          {"spec.trainer.train.microBatch",
           "must not change (it is 4): samples belong to micro-batches for the life of the job"},
      }));
}

TEST(ValidateUpdate, TheProgramStaysOfItsKind) {
  const Json after = *ParseJson(R"({"template": {"spec": {"containers": []}}})");
  EXPECT_EQ(
      ValidateUpdate(Spec(Good()), Spec(after))[0],
      (FieldError{"spec.trainer",
                  "must not change: a job keeps its kind of program: make a new job instead"}));
}

}  // namespace
}  // namespace muster::control
