#include "operator/api/rules.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "google/protobuf/descriptor.h"
#include "operator/api/schema.h"
#include "planner/model_presets.h"
#include "proto/muster/v1alpha1/training_job.pb.h"
#include "proto/muster/v1alpha1/training_queue.pb.h"

namespace muster::control {
namespace {

void CollectIds(const google::protobuf::Descriptor& message, std::multiset<std::string>& ids,
                std::set<std::string>& seen) {
  if (!seen.insert(message.full_name()).second) return;
  for (const v1alpha1::Rule& rule : SchemaOf(message).rules()) {
    ids.insert(rule.id());
    EXPECT_FALSE(rule.cel().empty()) << rule.id();
    EXPECT_FALSE(rule.message().empty()) << rule.id();
  }
  for (int i = 0; i < message.field_count(); ++i) {
    if (const auto* type = message.field(i)->message_type()) CollectIds(*type, ids, seen);
  }
}

const v1alpha1::Rule& FindRule(const google::protobuf::Descriptor& message, const char* id) {
  for (const v1alpha1::Rule& rule : SchemaOf(message).rules()) {
    if (rule.id() == id) return rule;
  }
  return v1alpha1::Rule::default_instance();
}

TEST(Rules, CelAndPredicatesAreTheSameSet) {
  std::multiset<std::string> in_proto;
  std::set<std::string> seen;
  CollectIds(*v1alpha1::TrainingJob::descriptor(), in_proto, seen);
  CollectIds(*v1alpha1::TrainingQueue::descriptor(), in_proto, seen);
  std::multiset<std::string> in_code;
  for (const auto& [id, check] : RuleChecks()) in_code.insert(id);
  EXPECT_EQ(in_proto, in_code);
}

TEST(Rules, FieldsOfRulesExist) {
  EXPECT_EQ(FindRule(*v1alpha1::TrainSpec::descriptor(), "micro-divides-global").field(),
            "globalBatch");
}

TEST(Rules, PresetsOfTheApiAreThePlanners) {
  const std::vector<std::string> values =
      ValuesOf(SchemaOf(*v1alpha1::ModelSpec::descriptor()->FindFieldByName("preset")));
  ASSERT_EQ(values.size(), planner::ModelPresets().size());
  EXPECT_EQ(values.front(), "gpt2-nano");
}

TEST(Rules, FamiliesOfTheApiAreThePlanners) {
  for (const std::string& name :
       ValuesOf(SchemaOf(*v1alpha1::ModelSpec::descriptor()->FindFieldByName("family")))) {
    const auto family = planner::ParseModelFamily(name);
    ASSERT_TRUE(family.ok()) << family.status();
    EXPECT_EQ(planner::Name(*family), name);
  }
}

TEST(WorkerCommand, IsThatOfTheWorkerContainer) {
  v1alpha1::TrainingJobSpec spec;
  EXPECT_TRUE(WorkerCommand(spec).empty());
  spec.mutable_template_()->set_raw(
      R"({"spec": {"containers": [{"name": "log", "command": ["a"]},
                                  {"name": "worker", "command": ["sh", "-c", "x"]}]}})");
  EXPECT_EQ(WorkerCommand(spec), (std::vector<std::string>{"sh", "-c", "x"}));
}

TEST(WorkerCommand, SurvivesEveryShape) {
  for (const char* raw : {"", "[]", "{}", R"({"spec": []})", R"({"spec": {"containers": {}}})",
                          R"({"spec": {"containers": [1, {"name": "worker"}, {"name": []}]}})",
                          R"({"spec": {"containers": [{"name": "worker", "command": "x"}]}})"}) {
    v1alpha1::TrainingJobSpec spec;
    spec.mutable_template_()->set_raw(raw);
    EXPECT_TRUE(WorkerCommand(spec).empty()) << raw;
  }
}

}  // namespace
}  // namespace muster::control
