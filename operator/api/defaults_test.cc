#include "operator/api/defaults.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/field_error.h"
#include "base/json.h"
#include "google/protobuf/descriptor.h"
#include "operator/api/codec.h"
#include "operator/api/schema.h"
#include "proto/muster/v1alpha1/training_job.pb.h"

namespace muster::control {
namespace {

using v1alpha1::TrainingJobSpec;

TrainingJobSpec Defaulted(const char* text) {
  TrainingJobSpec spec;
  EXPECT_EQ(DecodeMessage(*ParseJson(text), "spec", UnknownFields::kReport, spec), FieldErrors());
  Default(spec);
  return spec;
}

// Returns every message that is reachable from `message`, which comes first.
void Collect(const google::protobuf::Descriptor* message,
             std::vector<const google::protobuf::Descriptor*>& out) {
  out.push_back(message);
  for (int i = 0; i < message->field_count(); ++i) {
    const auto* field = message->field(i);
    if (field->cpp_type() == google::protobuf::FieldDescriptor::CPPTYPE_MESSAGE) {
      Collect(field->message_type(), out);
    }
  }
}

TEST(Defaults, EveryDefaultInTheProtoDecodes) {
  std::vector<const google::protobuf::Descriptor*> messages;
  Collect(v1alpha1::TrainingJob::descriptor(), messages);
  int defaults = 0;
  for (const auto* message : messages) {
    for (int i = 0; i < message->field_count(); ++i) {
      const auto& field = *message->field(i);
      if (SchemaOf(field).default_().empty()) continue;
      ++defaults;
      const absl::StatusOr<Json> value = ParseJson(SchemaOf(field).default_());
      ASSERT_TRUE(value.ok()) << field.full_name();
      auto* fresh =
          google::protobuf::MessageFactory::generated_factory()->GetPrototype(message)->New();
      EXPECT_EQ(DecodeMessage(Json::object({{field.json_name(), *value}}), "",
                              UnknownFields::kReport, *fresh),
                FieldErrors())
          << field.full_name();
      delete fresh;
    }
  }
  EXPECT_GT(defaults, 30);
}

TEST(Defaults, FillWhatIsAbsentAndNothingElse) {
  const TrainingJobSpec spec = Defaulted(R"({
    "trainer": {"model": {"preset": "gpt2-nano"}, "data": {"uri": "x"},
                "train": {"steps": 5, "globalBatch": 64}},
    "checkpoint": {"uri": "y", "interval": {"mode": "Time", "time": "1m"}}})");
  EXPECT_EQ(spec.workers().count(), 1);
  EXPECT_EQ(spec.workers().ranks(), 1);
  EXPECT_EQ(spec.trainer().train().global_batch(), 64);
  EXPECT_EQ(spec.trainer().train().micro_batch(), 4);
  EXPECT_EQ(spec.trainer().data().tokenizer().kind(), "Byte");
  EXPECT_EQ(spec.trainer().optimizer().learning_rate(), 3e-4);
  EXPECT_EQ(spec.trainer().optimizer().clip_norm(), 1.0);
  EXPECT_EQ(spec.checkpoint().interval().mode(), "Time");
  EXPECT_FALSE(spec.checkpoint().interval().has_steps());
  EXPECT_EQ(spec.checkpoint().keep(), 3);
  EXPECT_EQ(spec.failure_policy().on_rank_failure(), "RestartRank");
  EXPECT_FALSE(spec.elastic().has_orphan_deadline());
  EXPECT_FALSE(spec.suspend());
  EXPECT_TRUE(spec.has_suspend());
}

TEST(Defaults, OptionalBlocksStayAbsent) {
  const TrainingJobSpec spec = Defaulted("{}");
  EXPECT_FALSE(spec.has_trainer());
  EXPECT_FALSE(spec.has_checkpoint());
  EXPECT_FALSE(spec.has_template_());
  EXPECT_FALSE(spec.has_active_deadline());
  EXPECT_FALSE(spec.has_spot());
}

TEST(Defaults, AJobThatBoundsSpotNodesAllowsThem) {
  const TrainingJobSpec spec = Defaulted(R"({"spot": {"onDemandFloor": 1}})");
  EXPECT_TRUE(spec.spot().allow());
  EXPECT_FALSE(spec.spot().has_max_fraction());
  EXPECT_FALSE(Defaulted(R"({"spot": {"allow": false}})").spot().allow());
}

TEST(Defaults, MinAndMaxAreCount) {
  EXPECT_EQ(Defaulted(R"({"workers": {"count": 3}})").workers().min(), 3);
  EXPECT_EQ(Defaulted(R"({"workers": {"count": 3}})").workers().max(), 3);
  EXPECT_EQ(Defaulted(R"({"workers": {"count": 3, "min": 1, "max": 4}})").workers().min(), 1);
  EXPECT_EQ(Defaulted(R"({"workers": {"count": 3, "min": 1, "max": 4}})").workers().max(), 4);
}

TEST(Defaults, TokensAreOfTwoBytes) {
  EXPECT_EQ(
      Defaulted(R"({"trainer": {"data": {"format": "Tokens"}}})").trainer().data().token_type(),
      "U16");
  EXPECT_FALSE(Defaulted(R"({"trainer": {"data": {}}})").trainer().data().has_token_type());
}

TEST(Defaults, AreIdempotent) {
  TrainingJobSpec spec = Defaulted(R"({"trainer": {"data": {}}, "checkpoint": {}})");
  const Json once = EncodeMessage(spec);
  Default(spec);
  EXPECT_EQ(EncodeMessage(spec), once);
}

TEST(Defaults, AWatchedRunSkipsSpikesAndAnUnwatchedOneStaysSo) {
  const TrainingJobSpec watched = Defaulted(R"({"trainer": {"watch": {}}})");
  EXPECT_EQ(watched.trainer().watch().on_spike(), "Skip");
  EXPECT_EQ(watched.trainer().watch().deviations(), 10);
  EXPECT_EQ(watched.trainer().watch().rate_factor(), 0.5);
  EXPECT_EQ(watched.trainer().watch().max_in_row(), 3);
  EXPECT_FALSE(Defaulted(R"({"trainer": {}})").trainer().has_watch());
}

}  // namespace
}  // namespace muster::control
