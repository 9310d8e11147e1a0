#include "operator/core/state/trajectory.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "gtest/gtest.h"

namespace muster::control {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using ::testing::IsEmpty;
using v1alpha1::TrainingJobSpec;

bool Contains(const std::vector<std::string>& paths, const std::string& path) {
  return std::find(paths.begin(), paths.end(), path) != paths.end();
}

// Collects every leaf of the spec, except those below an object that FieldsOutsideTrajectory() has
// as a whole.
void Walk(const Descriptor& type, const std::string& prefix, std::vector<std::string>& leaves) {
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    const std::string path = absl::StrCat(prefix, field.json_name());
    const bool object = field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
    if (!object || field.is_repeated() || Contains(FieldsOutsideTrajectory(), path)) {
      leaves.push_back(path);
    } else {
      Walk(*field.message_type(), path + ".", leaves);
    }
  }
}

std::vector<std::string> Leaves() {
  std::vector<std::string> leaves;
  Walk(*TrainingJobSpec::descriptor(), "", leaves);
  return leaves;
}

TEST(TrajectoryTest, EveryFieldOfTheSpecIsListedAsShapingTheTrajectoryOrNot) {
  std::vector<std::string> unknown;
  for (const std::string& path : Leaves()) {
    const bool shapes = Contains(FieldsThatShapeTheTrajectory(), path);
    if (shapes == Contains(FieldsOutsideTrajectory(), path)) unknown.push_back(path);
  }
  EXPECT_THAT(unknown, IsEmpty()) << "list them in trajectory.cc, once";
  std::vector<std::string> gone;
  for (const auto& listed : {FieldsThatShapeTheTrajectory(), FieldsOutsideTrajectory()}) {
    for (const std::string& path : listed) {
      if (!Contains(Leaves(), path)) gone.push_back(path);
    }
  }
  EXPECT_THAT(gone, IsEmpty()) << "they are no fields";
}

// Sets the field to some value, and creates the objects on the way there.
void Set(Message& message, const std::string& path) {
  const size_t dot = path.find('.');
  const std::string name = path.substr(0, dot);
  const FieldDescriptor* field = nullptr;
  for (int i = 0; i < message.GetDescriptor()->field_count(); ++i) {
    const FieldDescriptor* candidate = message.GetDescriptor()->field(i);
    if (candidate->json_name() == name) field = candidate;
  }
  ASSERT_NE(field, nullptr) << path;
  const auto* reflection = message.GetReflection();
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_MESSAGE: {
      if (field->is_repeated()) return (void)reflection->AddMessage(&message, field);
      Message* inner = reflection->MutableMessage(&message, field);
      if (dot != std::string::npos) Set(*inner, path.substr(dot + 1));
      return;
    }
    case FieldDescriptor::CPPTYPE_STRING:
      return reflection->SetString(&message, field, "other");
    case FieldDescriptor::CPPTYPE_BOOL:
      return reflection->SetBool(&message, field, true);
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return reflection->SetDouble(&message, field, 0.375);
    case FieldDescriptor::CPPTYPE_INT32:
      return reflection->SetInt32(&message, field, 7);
    case FieldDescriptor::CPPTYPE_INT64:
      return reflection->SetInt64(&message, field, 7);
    default:
      FAIL() << "a type that no field had: " << path;
  }
}

TEST(TrajectoryTest, TheDigestDependsOnTheFieldsThatShapeTheTrajectoryAndOnNoOther) {
  TrainingJobSpec plain;
  plain.mutable_trainer()->mutable_train()->set_steps(100);
  const std::string digest = TrajectoryDigest(plain);
  EXPECT_EQ(digest.size(), 32u);
  for (const bool shapes : {true, false}) {
    for (const std::string& path :
         shapes ? FieldsThatShapeTheTrajectory() : FieldsOutsideTrajectory()) {
      TrainingJobSpec changed = plain;
      Set(changed, path);
      EXPECT_EQ(TrajectoryDigest(changed) != digest, shapes) << path;
    }
  }
}

TEST(TrajectoryTest, ItSaysWhetherTheSourcesAreTheSame) {
  TrainingJobSpec spec;
  spec.mutable_trainer()->mutable_data()->set_uri("/data");
  spec.mutable_checkpoint()->set_uri("/ck");
  const std::string sources = SourcesOf(TrajectoryDigest(spec));
  EXPECT_EQ(sources.size(), 16u);
  TrainingJobSpec other = spec;
  other.mutable_trainer()->mutable_train()->set_steps(7);
  EXPECT_EQ(SourcesOf(TrajectoryDigest(other)), sources);
  other.mutable_checkpoint()->set_uri("/elsewhere");
  EXPECT_NE(SourcesOf(TrajectoryDigest(other)), sources);
  other = spec;
  other.mutable_trainer()->mutable_data()->set_uri("/other");
  EXPECT_NE(SourcesOf(TrajectoryDigest(other)), sources);
  EXPECT_EQ(SourcesOf("0123456789abcdef"), "") << "of an older operator";
}

TEST(TrajectoryTest, AJobThatBringsItsCommandHasNone) {
  TrainingJobSpec spec;
  spec.mutable_checkpoint()->set_uri("/checkpoints");
  EXPECT_EQ(TrajectoryDigest(spec), "");
}

TEST(TrajectoryTest, TheTemplateStaysOutOfOrders) {
  TrainingJobSpec spec;
  spec.mutable_trainer()->mutable_train()->set_steps(5);
  spec.mutable_template_();
  spec.mutable_elastic()->set_rank_deadline("3s");
  spec.mutable_trainer()->add_tunings()->set_learning_rate(1e-4);
  v1alpha1::TrainingJobStatus status;
  status.add_tunings()->set_step(41);
  const TrainingJobSpec round = RoundSpec(spec, status);
  EXPECT_EQ(round.trainer().tunings(0).from_step(), 41);
  EXPECT_FALSE(round.has_template_());
  EXPECT_EQ(round.trainer().train().steps(), 5);
  EXPECT_EQ(round.elastic().rank_deadline(), "3s");
}

}  // namespace
}  // namespace muster::control
