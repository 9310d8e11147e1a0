#include "operator/api/validation.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/json.h"
#include "base/object_store/place.h"
#include "google/protobuf/descriptor.h"
#include "operator/api/codec.h"
#include "operator/api/rules.h"
#include "operator/api/schema.h"
#include "operator/api/template_gpus.h"
#include "operator/api/template_quantities.h"
#include "proto/muster/v1alpha1/schema_options.pb.h"
#include "re2/re2.h"

namespace muster::control {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;
using v1alpha1::FieldSchema;

// Formats whole numbers without a fraction; every bound in training_job.proto fits an int64.
std::string Number(double value) {
  constexpr double kWhole = 9e18;
  const bool whole = std::abs(value) < kWhole && std::trunc(value) == value;
  return DumpJson(whole ? Json(static_cast<int64_t>(value)) : Json(value));
}

// Formats a range: "at least 1", "1 to 5000", "more than 0 and at most 100", "at least 0 and less
// than 1".
std::string Range(const FieldSchema& schema) {
  if (schema.has_minimum() && schema.has_maximum()) {
    return absl::StrCat(Number(schema.minimum()), " to ", Number(schema.maximum()));
  }
  std::string out;
  if (schema.has_minimum()) out = absl::StrCat("at least ", Number(schema.minimum()));
  if (schema.has_exclusive_minimum()) {
    out = absl::StrCat("more than ", Number(schema.exclusive_minimum()));
  }
  const char* join = out.empty() ? "" : " and ";
  if (schema.has_maximum()) absl::StrAppend(&out, join, "at most ", Number(schema.maximum()));
  if (schema.has_exclusive_maximum()) {
    absl::StrAppend(&out, join, "less than ", Number(schema.exclusive_maximum()));
  }
  return out;
}

bool InRange(const FieldSchema& schema, double value) {
  return !(schema.has_minimum() && value < schema.minimum()) &&
         !(schema.has_maximum() && value > schema.maximum()) &&
         !(schema.has_exclusive_minimum() && value <= schema.exclusive_minimum()) &&
         !(schema.has_exclusive_maximum() && value >= schema.exclusive_maximum());
}

// Checks JSON against a structural schema: type, properties, items, required, maxItems, minLength,
// maxLength. Fields that the schema does not name are accepted. Appends every error.
void CheckRaw(const Json& schema, const Json& json, absl::string_view path, FieldErrors& errors);

// Returns the limit `name` of the schema, or `otherwise` if it has none.
size_t Limit(const Json& schema, const char* name, size_t otherwise) {
  const auto found = schema.find(name);
  return found == schema.end() ? otherwise : found->get<size_t>();
}

void CheckRawObject(const Json& schema, const Json& json, absl::string_view path,
                    FieldErrors& errors) {
  if (!json.is_object()) {
    errors.push_back({std::string(path), absl::StrCat("want an object, got ", Describe(json))});
    return;
  }
  if (const auto required = schema.find("required"); required != schema.end()) {
    for (const Json& name : *required) {
      const auto found = json.find(name.get<std::string>());
      if (found == json.end() || found->is_null()) {
        errors.push_back({FieldPath(path, name.get<std::string>()), "is required and missing"});
      }
    }
  }
  const auto properties = schema.find("properties");
  if (properties == schema.end()) return;
  for (const auto& [name, property] : properties->items()) {
    const auto found = json.find(name);
    if (found == json.end() || found->is_null()) continue;
    CheckRaw(property, *found, FieldPath(path, name), errors);
  }
}

void CheckRawList(const Json& schema, const Json& json, absl::string_view path,
                  FieldErrors& errors) {
  if (!json.is_array()) {
    errors.push_back({std::string(path), absl::StrCat("want a list, got ", Describe(json))});
    return;
  }
  if (const size_t most = Limit(schema, "maxItems", json.size()); json.size() > most) {
    errors.push_back(
        {std::string(path), absl::StrCat("has ", json.size(), " items; want at most ", most)});
    return;
  }
  const auto items = schema.find("items");
  if (items == schema.end()) return;
  for (size_t i = 0; i < json.size(); ++i) CheckRaw(*items, json[i], ItemPath(path, i), errors);
}

void CheckRawString(const Json& schema, const Json& json, absl::string_view path,
                    FieldErrors& errors) {
  if (!json.is_string()) {
    errors.push_back({std::string(path), absl::StrCat("want a string, got ", Describe(json))});
    return;
  }
  const size_t size = json.get_ref<const std::string&>().size();
  if (size < Limit(schema, "minLength", 0)) {
    errors.push_back({std::string(path), "must not be empty"});
  }
  if (const size_t most = Limit(schema, "maxLength", size); size > most) {
    errors.push_back(
        {std::string(path), absl::StrCat("is ", size, " characters long; want at most ", most)});
  }
}

void CheckRaw(const Json& schema, const Json& json, absl::string_view path, FieldErrors& errors) {
  const Json type = schema.value("/type"_json_pointer, Json());
  if (type == "object") return CheckRawObject(schema, json, path, errors);
  if (type == "array") return CheckRawList(schema, json, path, errors);
  if (type == "string") return CheckRawString(schema, json, path, errors);
}

class FieldValidator {
 public:
  void Check(const Message& message, const std::string& path) {
    const google::protobuf::Descriptor& descriptor = *message.GetDescriptor();
    if (IsRaw(descriptor)) return CheckRawMessage(message, path);
    for (int i = 0; i < descriptor.field_count(); ++i) {
      CheckField(message, *descriptor.field(i), FieldPath(path, descriptor.field(i)->json_name()));
    }
  }

  FieldErrors errors;

 private:
  void Add(const std::string& path, std::string text) { errors.push_back({path, std::move(text)}); }

  void CheckRawMessage(const Message& message, const std::string& path) {
    const google::protobuf::Descriptor& descriptor = *message.GetDescriptor();
    const absl::StatusOr<Json> schema = ParseJson(SchemaOf(descriptor).raw_schema());
    const absl::StatusOr<Json> raw =
        ParseJson(message.GetReflection()->GetString(message, &RawField(descriptor)));
    if (!raw.ok()) return Add(path, std::string(raw.status().message()));
    if (schema.ok()) CheckRaw(*schema, *raw, path, errors);
  }

  void CheckField(const Message& message, const FieldDescriptor& field, const std::string& path) {
    const Reflection& reflection = *message.GetReflection();
    const FieldSchema& schema = SchemaOf(field);
    if (field.is_repeated()) return CheckList(message, field, path);
    if (!reflection.HasField(message, &field)) {
      if (schema.required()) Add(path, Missing(schema));
      return;
    }
    switch (field.cpp_type()) {
      case FieldDescriptor::CPPTYPE_MESSAGE:
        return Check(reflection.GetMessage(message, &field), path);
      case FieldDescriptor::CPPTYPE_STRING:
        return CheckString(reflection.GetString(message, &field), schema, path);
      case FieldDescriptor::CPPTYPE_INT32:
        return CheckNumber(reflection.GetInt32(message, &field), schema, path);
      case FieldDescriptor::CPPTYPE_INT64:
        return CheckNumber(static_cast<double>(reflection.GetInt64(message, &field)), schema, path);
      case FieldDescriptor::CPPTYPE_DOUBLE:
        return CheckNumber(reflection.GetDouble(message, &field), schema, path);
      default:
        return;
    }
  }

  static std::string Missing(const FieldSchema& schema) {
    const std::vector<std::string> values = ValuesOf(schema);
    if (!values.empty()) return absl::StrCat("is required and missing; want ", JoinOr(values));
    const std::string range = Range(schema);
    return range.empty() ? "is required and missing"
                         : absl::StrCat("is required and missing; want ", range);
  }

  void CheckList(const Message& message, const FieldDescriptor& field, const std::string& path) {
    const Reflection& reflection = *message.GetReflection();
    const FieldSchema& schema = SchemaOf(field);
    const int size = reflection.FieldSize(message, &field);
    if (schema.has_max_items() && size > schema.max_items()) {
      Add(path, absl::StrCat("has ", size, " items; want at most ", schema.max_items()));
    }
    if (schema.has_min_items() && size < schema.min_items()) {
      Add(path, absl::StrCat("has ", size, " items; want at least ", schema.min_items()));
    }
    for (int i = 0; i < size; ++i) {
      if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
        Check(reflection.GetRepeatedMessage(message, &field, i), ItemPath(path, i));
      } else if (field.cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
        CheckString(reflection.GetRepeatedString(message, &field, i), schema, ItemPath(path, i));
      } else if (field.cpp_type() == FieldDescriptor::CPPTYPE_INT32) {
        CheckNumber(reflection.GetRepeatedInt32(message, &field, i), schema, ItemPath(path, i));
      }
    }
    if (!schema.list_map_key().empty()) CheckKeys(message, field, path);
  }

  // Makes an API server's check of a list with a key field: no two items may have the same key.
  void CheckKeys(const Message& message, const FieldDescriptor& field, const std::string& path) {
    const std::string& key = SchemaOf(field).list_map_key();
    std::set<std::string> seen;
    for (int i = 0; i < message.GetReflection()->FieldSize(message, &field); ++i) {
      const Message& item = message.GetReflection()->GetRepeatedMessage(message, &field, i);
      const FieldDescriptor* name = item.GetDescriptor()->FindFieldByCamelcaseName(key);
      if (name == nullptr || !item.GetReflection()->HasField(item, name)) continue;
      const std::string value = item.GetReflection()->GetString(item, name);
      if (seen.insert(value).second) continue;
      Add(ItemPath(path, i), absl::StrCat("\"", value, "\" is listed twice"));
    }
  }

  void CheckNumber(double value, const FieldSchema& schema, const std::string& path) {
    if (!InRange(schema, value)) {
      Add(path, absl::StrCat("is ", Number(value), "; want ", Range(schema)));
    }
  }

  void CheckString(const std::string& value, const FieldSchema& schema, const std::string& path) {
    const int size = static_cast<int>(value.size());
    if (schema.has_min_length() && size < schema.min_length()) {
      return Add(path, "must not be empty");
    }
    if (schema.has_max_length() && size > schema.max_length()) {
      return Add(path,
                 absl::StrCat("is ", size, " characters long; want at most ", schema.max_length()));
    }
    if (!schema.pattern().empty() && !RE2::FullMatch(value, schema.pattern())) {
      return Add(path,
                 absl::StrCat("want text like ", schema.pattern(), ", got ", Describe(value)));
    }
    if (const auto place = PlaceOf(schema); place.has_value()) {
      if (auto why = WhyNoPlace(value, *place)) return Add(path, *std::move(why));
    }
    const bool off = value == "0s" && IsOffByDefault(schema);
    if (schema.duration() && !off && !IsPositiveDuration(value)) {
      return Add(path,
                 absl::StrCat(Describe(value),
                              " is not a positive duration; want one like 90s, 10m or 1h30m"));
    }
    const std::vector<std::string> values = ValuesOf(schema);
    if (!values.empty() && std::find(values.begin(), values.end(), value) == values.end()) {
      Add(path, absl::StrCat("want ", JoinOr(values), ", got ", Describe(value)));
    }
  }
};

// Returns the path `inner` relative to `scope`, as a user writes it; nullopt if it is elsewhere.
std::optional<absl::string_view> Below(absl::string_view inner, absl::string_view scope) {
  if (!absl::StartsWith(inner, scope)) return std::nullopt;
  inner.remove_prefix(scope.size());
  if (scope.empty() || inner.empty()) return inner;
  if (inner[0] == '.') return inner.substr(1);
  return inner[0] == '[' ? std::make_optional(inner) : std::nullopt;
}

// Returns the fields that a rule reads, taken from its CEL text: every name that follows a dot.
std::vector<std::string> FieldsReadBy(const v1alpha1::Rule& rule) {
  std::vector<std::string> fields;
  for (absl::string_view piece : absl::StrSplit(rule.cel(), '.')) {
    size_t n = 0;
    while (n < piece.size() && absl::ascii_isalnum(static_cast<unsigned char>(piece[n]))) ++n;
    if (n > 0) fields.emplace_back(piece.substr(0, n));
  }
  return fields;
}

// Returns the last name of a path: `command` of `spec.containers[0].command[1]`.
absl::string_view Leaf(absl::string_view path) {
  const size_t dot = path.rfind('.');
  if (dot != absl::string_view::npos) path.remove_prefix(dot + 1);
  return path.substr(0, path.find('['));
}

// Errors that make some rules pointless.
struct Known {
  const FieldErrors& unread;  // fields that could not be decoded, and may be misspelt
  const FieldErrors& wrong;   // fields whose value is already refused
};

// Returns true if the rule would check a value that is already refused, or a default in place of a
// field that could not be decoded.
bool IsInDoubt(const v1alpha1::Rule& rule, absl::string_view scope, const Known& known) {
  const std::vector<std::string> fields = FieldsReadBy(rule);
  const auto reads = [&](const FieldError& error, bool misspelt) {
    const std::optional<absl::string_view> below = Below(error.path, scope);
    if (!below.has_value()) return false;
    if (below->empty()) return true;
    const absl::string_view leaf = Leaf(*below);
    return misspelt ? !Nearest(leaf, fields).empty()
                    : std::find(fields.begin(), fields.end(), leaf) != fields.end();
  };
  return std::any_of(known.unread.begin(), known.unread.end(),
                     [&](const FieldError& error) { return reads(error, true); }) ||
         std::any_of(known.wrong.begin(), known.wrong.end(),
                     [&](const FieldError& error) { return reads(error, false); });
}

void CheckRules(const Message& message, const std::string& path, const Known& known,
                FieldErrors& errors) {
  const google::protobuf::Descriptor& descriptor = *message.GetDescriptor();
  for (const v1alpha1::Rule& rule : SchemaOf(descriptor).rules()) {
    if (IsInDoubt(rule, path, known)) continue;
    const auto check = RuleChecks().find(rule.id());
    if (check == RuleChecks().end()) continue;
    const std::optional<std::string> detail = check->second(message);
    if (!detail.has_value()) continue;
    const std::string at = rule.field().empty() ? path
                           : path.empty()       ? rule.field()
                                                : absl::StrCat(path, ".", rule.field());
    errors.push_back(
        {at, detail->empty() ? rule.message() : absl::StrCat(rule.message(), " (", *detail, ")")});
  }
  const Reflection& reflection = *message.GetReflection();
  for (int i = 0; i < descriptor.field_count(); ++i) {
    const FieldDescriptor& field = *descriptor.field(i);
    if (field.cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) continue;
    const std::string here = FieldPath(path, field.json_name());
    for (int j = 0; field.is_repeated() && j < reflection.FieldSize(message, &field); ++j) {
      CheckRules(reflection.GetRepeatedMessage(message, &field, j), ItemPath(here, j), known,
                 errors);
    }
    if (field.is_repeated() || !reflection.HasField(message, &field)) continue;
    CheckRules(reflection.GetMessage(message, &field), here, known, errors);
  }
}

void CheckUpdate(const Message& before, const Message& after, const std::string& path,
                 FieldErrors& errors) {
  const google::protobuf::Descriptor& descriptor = *before.GetDescriptor();
  if (IsRaw(descriptor)) return;
  for (int i = 0; i < descriptor.field_count(); ++i) {
    const FieldDescriptor& field = *descriptor.field(i);
    if (field.is_repeated()) continue;
    const bool had = before.GetReflection()->HasField(before, &field);
    const bool has = after.GetReflection()->HasField(after, &field);
    if (!had && !has) continue;
    const FieldSchema& schema = SchemaOf(field);
    const std::string here = FieldPath(path, field.json_name());
    if (had != has) {
      const std::string& why =
          schema.immutable().empty() ? schema.fixed_presence() : schema.immutable();
      if (!why.empty()) errors.push_back({here, absl::StrCat("must not change: ", why)});
      continue;
    }
    const Json was = EncodeMessage(before).value(field.json_name(), Json());
    const Json is = EncodeMessage(after).value(field.json_name(), Json());
    if (!schema.immutable().empty() && was != is) {
      const std::string change =
          was.is_primitive() ? absl::StrCat(" (it is ", DumpJson(was), ")") : std::string();
      errors.push_back({here, absl::StrCat("must not change", change, ": ", schema.immutable())});
    } else if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      CheckUpdate(before.GetReflection()->GetMessage(before, &field),
                  after.GetReflection()->GetMessage(after, &field), here, errors);
    }
  }
}

FieldErrors WithTemplate(FieldErrors errors, const v1alpha1::TrainingJobSpec& spec) {
  for (FieldError& error : CheckTemplateQuantities(spec)) errors.push_back(std::move(error));
  for (FieldError& error : CheckTemplateGpus(spec)) errors.push_back(std::move(error));
  return errors;
}

}  // namespace

FieldErrors ValidateFields(const Message& message, absl::string_view path) {
  FieldValidator validator;
  validator.Check(message, std::string(path));
  return std::move(validator.errors);
}

FieldErrors Validate(const Message& message, absl::string_view path, const FieldErrors& unread) {
  const FieldErrors wrong = ValidateFields(message, path);
  FieldErrors errors = wrong;
  CheckRules(message, std::string(path), Known{unread, wrong}, errors);
  return errors;
}

FieldErrors Validate(const v1alpha1::TrainingJob& job, const FieldErrors& unread) {
  return WithTemplate(Validate(job, "", unread), job.spec());
}

FieldErrors Validate(const v1alpha1::TrainingJobSpec& spec) {
  return WithTemplate(Validate(spec, "spec", {}), spec);
}

FieldErrors ValidateUpdate(const v1alpha1::TrainingJobSpec& before,
                           const v1alpha1::TrainingJobSpec& after) {
  FieldErrors errors;
  CheckUpdate(before, after, "spec", errors);
  return errors;
}

}  // namespace muster::control
