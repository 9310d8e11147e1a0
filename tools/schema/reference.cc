#include "tools/schema/reference.h"

#include <algorithm>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/substitute.h"
#include "base/json.h"
#include "operator/api/schema.h"
#include "proto/muster/v1alpha1/schema_options.pb.h"
#include "tools/schema/comments.h"

namespace muster::schema {
namespace {

using control::SchemaOf;
using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using v1alpha1::FieldSchema;

constexpr char kPreamble[] =
    "# $0 reference\n\n"
    "<!-- Generated from $1 by tools/generate. -->\n\n"
    "Every field of `apiVersion: muster.dev/v1alpha1`, `kind: $0`. The same constraints "
    "are in\n"
    "the CustomResourceDefinition, and $2 checks them without a cluster. A default "
    "inside an\n"
    "object counts when that object is given or has a default itself.\n";

bool IsDocumented(const FieldDescriptor& field) {
  return field.message_type() == nullptr || field.message_type()->name() != "ObjectMeta";
}

std::string Number(double value) {
  const bool whole = value == static_cast<double>(static_cast<int64_t>(value));
  return DumpJson(whole ? Json(static_cast<int64_t>(value)) : Json(value));
}

std::string Anchor(const Descriptor& message) {
  return absl::StrCat("[", message.name(), "](#", absl::AsciiStrToLower(message.name()), ")");
}

std::string TypeName(const FieldDescriptor& field) {
  std::string type;
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_MESSAGE:
      type = Anchor(*field.message_type());
      break;
    case FieldDescriptor::CPPTYPE_STRING:
      type = SchemaOf(field).duration() ? "duration" : "string";
      break;
    case FieldDescriptor::CPPTYPE_BOOL:
      type = "bool";
      break;
    case FieldDescriptor::CPPTYPE_DOUBLE:
      type = "number";
      break;
    default:
      type = "integer";
  }
  return field.is_repeated() ? absl::StrCat("list of ", type) : type;
}

std::string Bounds(const FieldSchema& options) {
  std::vector<std::string> bounds;
  if (options.has_minimum()) bounds.push_back(absl::StrCat(">= ", Number(options.minimum())));
  if (options.has_exclusive_minimum()) {
    bounds.push_back(absl::StrCat("> ", Number(options.exclusive_minimum())));
  }
  if (options.has_maximum()) bounds.push_back(absl::StrCat("<= ", Number(options.maximum())));
  if (options.has_exclusive_maximum()) {
    bounds.push_back(absl::StrCat("< ", Number(options.exclusive_maximum())));
  }
  return absl::StrJoin(bounds, ", ");
}

std::string Constraints(const FieldDescriptor& field) {
  const FieldSchema& options = SchemaOf(field);
  std::vector<std::string> parts;
  if (options.required()) parts.push_back("required");
  if (const std::vector<std::string> values = control::ValuesOf(options); !values.empty()) {
    parts.push_back(absl::StrJoin(values, ", ", [](std::string* out, const auto& value) {
      absl::StrAppend(out, "`", value, "`");
    }));
  }
  if (const std::string bounds = Bounds(options); !bounds.empty()) parts.push_back(bounds);
  if (options.has_max_length()) {
    parts.push_back(absl::StrCat("at most ", options.max_length(), " characters"));
  }
  if (!options.pattern().empty()) parts.push_back(absl::StrCat("`", options.pattern(), "`"));
  if (options.has_max_items()) {
    parts.push_back(absl::StrCat("at most ", options.max_items(), " items"));
  }
  if (!options.immutable().empty()) parts.push_back("immutable");
  if (!options.fixed_presence().empty()) parts.push_back("presence is immutable");
  return absl::StrJoin(parts, "; ");
}

std::string Cell(const std::string& text) { return absl::StrReplaceAll(text, {{"|", "\\|"}}); }

std::string Row(const FieldDescriptor& field) {
  const FieldSchema& options = SchemaOf(field);
  const std::string standard =
      options.default_().empty() ? "" : absl::StrCat("`", options.default_(), "`");
  return absl::StrCat("| `", field.json_name(), "` | ", TypeName(field), " | ", Cell(standard),
                      " | ", Cell(Constraints(field)), " | ", Cell(CommentOf(field)), " |\n");
}

std::string Section(const Descriptor& message) {
  std::string out = absl::StrCat("\n## ", message.name(), "\n\n", CommentOf(message), "\n");
  const v1alpha1::MessageSchema& options = SchemaOf(message);
  if (control::IsRaw(message)) {
    absl::StrAppend(
        &out,
        "\nmuster reads `spec.containers[]` with `name`, `image`, `command`, `args`,\n"
        "`workingDir` and `env[]` (`name`, `value`), and the fields by which kube-scheduler\n"
        "chooses a node. A pod has the labels and annotations of `metadata`, and `spec` as it\n"
        "is written, but for the fields that muster sets: `restartPolicy`, `schedulerName`,\n"
        "`nodeName`, and in the container `worker` the `image` of a job with `trainer`, and\n"
        "`command` and `args`, since the agent starts there and then starts the command. muster\n"
        "adds labels, variables, the agent's token, GPUs with their toleration, and the priority\n"
        "class.\n");
    return out;
  }
  absl::StrAppend(&out, "\n| Field | Type | Default | Constraints | What it is |\n",
                  "|---|---|---|---|---|\n");
  for (int i = 0; i < message.field_count(); ++i) {
    if (IsDocumented(*message.field(i))) absl::StrAppend(&out, Row(*message.field(i)));
  }
  if (!options.rules().empty()) absl::StrAppend(&out, "\nRules:\n\n");
  for (const v1alpha1::Rule& rule : options.rules()) {
    const std::string field = rule.field().empty() ? "" : absl::StrCat("`", rule.field(), "`: ");
    absl::StrAppend(&out, "- ", field, rule.message(), ".\n");
  }
  return out;
}

// Collects the message and then those of its fields, each once, so that the spec's stand together
// before the status's.
void Collect(const Descriptor& message, std::vector<const Descriptor*>& out) {
  if (std::find(out.begin(), out.end(), &message) != out.end()) return;
  out.push_back(&message);
  if (control::IsRaw(message)) return;
  for (int i = 0; i < message.field_count(); ++i) {
    const FieldDescriptor& field = *message.field(i);
    if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE && IsDocumented(field)) {
      Collect(*field.message_type(), out);
    }
  }
}

}  // namespace

std::string MakeReference(const Descriptor& root, absl::string_view checked_by) {
  std::vector<const Descriptor*> messages;
  Collect(root, messages);
  std::string out = absl::Substitute(kPreamble, root.name(), root.file()->name(), checked_by);
  for (const Descriptor* message : messages) absl::StrAppend(&out, Section(*message));
  return out;
}

}  // namespace muster::schema
