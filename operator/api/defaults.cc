#include "operator/api/defaults.h"

#include <memory>

#include "absl/status/statusor.h"
#include "base/json.h"
#include "google/protobuf/descriptor.h"
#include "operator/api/codec.h"
#include "operator/api/schema.h"

namespace muster::control {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

// The defaults of training_job.proto are constants; schema_test proves that each parses and
// decodes.
void SetDefault(const FieldDescriptor& field, Message& message) {
  const absl::StatusOr<Json> value = ParseJson(SchemaOf(field).default_());
  if (!value.ok()) return;
  const std::unique_ptr<Message> fresh(message.New());
  DecodeMessage(Json{{field.json_name(), *value}}, "", UnknownFields::kReport, *fresh);
  message.MergeFrom(*fresh);
}

}  // namespace

void DefaultFromSchema(Message& message) {
  const google::protobuf::Descriptor& descriptor = *message.GetDescriptor();
  if (IsRaw(descriptor)) return;
  const Reflection& reflection = *message.GetReflection();
  for (int i = 0; i < descriptor.field_count(); ++i) {
    const FieldDescriptor& field = *descriptor.field(i);
    const bool is_message = field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
    if (field.is_repeated()) {
      for (int j = 0; is_message && j < reflection.FieldSize(message, &field); ++j) {
        DefaultFromSchema(*reflection.MutableRepeatedMessage(&message, &field, j));
      }
      continue;
    }
    if (!reflection.HasField(message, &field) && !SchemaOf(field).default_().empty()) {
      SetDefault(field, message);
    }
    if (is_message && reflection.HasField(message, &field)) {
      DefaultFromSchema(*reflection.MutableMessage(&message, &field));
    }
  }
}

void Default(v1alpha1::TrainingJobSpec& spec) {
  DefaultFromSchema(spec);
  v1alpha1::WorkersSpec& workers = *spec.mutable_workers();
  if (!workers.has_min()) workers.set_min(workers.count());
  if (!workers.has_max()) workers.set_max(workers.count());
  if (spec.has_trainer() && spec.trainer().has_data()) {
    v1alpha1::DataSpec& data = *spec.mutable_trainer()->mutable_data();
    if (data.format() == "Tokens" && !data.has_token_type()) data.set_token_type("U16");
  }
}

}  // namespace muster::control
