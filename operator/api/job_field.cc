#include "operator/api/job_field.h"

#include <cstdio>
#include <cstdlib>

#include "base/json_fields.h"
#include "google/protobuf/descriptor.h"
#include "proto/muster/v1alpha1/training_job.pb.h"

namespace muster::control {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using Path = std::initializer_list<std::string_view>;

[[noreturn]] void Die(Path path, const std::string& what) {
  std::string dotted;
  for (const std::string_view name : path) {
    if (!dotted.empty()) dotted += '.';
    dotted += name;
  }
  std::fprintf(stderr, "TrainingJob: %s %s\n", dotted.c_str(), what.c_str());
  std::abort();
}

const Descriptor* BlockNamed(std::string_view name) {
  if (name == "spec") return v1alpha1::TrainingJobSpec::descriptor();
  return name == "status" ? v1alpha1::TrainingJobStatus::descriptor() : nullptr;
}

const FieldDescriptor* FieldNamed(const Descriptor& message, std::string_view name) {
  for (int i = 0; i < message.field_count(); ++i) {
    if (message.field(i)->json_name() == name) return message.field(i);
  }
  return nullptr;
}

void CheckPath(Path path) {
  const Descriptor* message = nullptr;
  for (const std::string_view& name : path) {
    if (&name == path.begin()) {
      message = BlockNamed(name);
    } else {
      const FieldDescriptor* field = FieldNamed(*message, name);
      if (field == nullptr) Die(path, "is not a field: there is no " + std::string(name));
      const bool last = &name + 1 == path.end();
      message = field->is_repeated() ? nullptr : field->message_type();
      if (last) return;
    }
    if (message == nullptr) Die(path, "is not a field: nothing is inside " + std::string(name));
  }
}

}  // namespace

const Json* JobField(const Json& job, Path path) {
  CheckPath(path);
  return FindField(job, path);
}

int64_t JobNumber(const Json& job, Path path) {
  const Json* value = JobField(job, path);
  if (value == nullptr) return 0;
  if (!value->is_number_integer()) Die(path, "is not an integer: " + value->dump());
  return value->get<int64_t>();
}

std::string JobText(const Json& job, Path path) {
  const Json* value = JobField(job, path);
  if (value == nullptr) return "";
  if (!value->is_string()) Die(path, "is not a string: " + value->dump());
  return value->get<std::string>();
}

}  // namespace muster::control
