#include "tools/schema/crd.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "base/object_store/place.h"
#include "operator/api/schema.h"
#include "planner/model_presets.h"
#include "proto/muster/v1alpha1/schema_options.pb.h"
#include "tools/schema/comments.h"

namespace muster::schema {
namespace {

using control::SchemaOf;
using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using planner::ModelPreset;
using planner::ModelShape;
using v1alpha1::FieldSchema;

constexpr int kMaxDurationLength = 32;

// Invalid JSON in an option is a mistake in training_job.proto; the resulting null shows up in the
// diff of the CRD.
Json ParseOption(const std::string& text) {
  const absl::StatusOr<Json> json = ParseJson(text);
  return json.ok() ? *json : Json();
}

Json Number(double value) {
  return std::trunc(value) == value ? Json(static_cast<int64_t>(value)) : Json(value);
}

void AddRule(Json& schema, const std::string& cel, const std::string& message,
             const std::string& field) {
  Json rule = {{"rule", cel}, {"message", message}};
  // A fieldPath must name a field of the schema, which does not contain those of metadata.
  if (!field.empty() && !absl::StartsWith(field, "metadata.")) {
    rule["fieldPath"] = absl::StrCat(".", field);
  }
  schema["x-kubernetes-validations"].push_back(std::move(rule));
}

void AddNumberBounds(const FieldSchema& options, Json& schema) {
  if (options.has_minimum()) schema["minimum"] = Number(options.minimum());
  if (options.has_maximum()) schema["maximum"] = Number(options.maximum());
  if (options.has_exclusive_minimum()) {
    schema["minimum"] = Number(options.exclusive_minimum());
    schema["exclusiveMinimum"] = true;
  }
  if (options.has_exclusive_maximum()) {
    schema["maximum"] = Number(options.exclusive_maximum());
    schema["exclusiveMaximum"] = true;
  }
}

void AddStringBounds(const FieldSchema& options, Json& schema) {
  if (options.has_min_length()) schema["minLength"] = options.min_length();
  if (options.has_max_length()) schema["maxLength"] = options.max_length();
  for (const std::string& value : control::ValuesOf(options)) schema["enum"].push_back(value);
  if (!options.pattern().empty()) schema["pattern"] = options.pattern();
  if (const auto place = control::PlaceOf(options); place.has_value()) {
    AddRule(schema, PlaceRule(*place), PlaceMessage(*place), "");
  }
  if (options.duration()) {
    schema["pattern"] = control::kDurationPattern;
    schema["maxLength"] = kMaxDurationLength;
    if (control::IsOffByDefault(options)) {
      AddRule(schema, "self == '0s' || duration(self) > duration('0s')",
              "must be 0s or a positive duration like 90s, 10m or 1h30m", "");
    } else {
      AddRule(schema, "duration(self) > duration('0s')",
              "must be a positive duration like 90s, 10m or 1h30m", "");
    }
  }
}

// The schema of one value of the field, without the attributes of the field itself.
Json ItemSchema(const FieldDescriptor& field) {
  const FieldSchema& options = SchemaOf(field);
  Json schema = Json::object();
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return MakeSchema(*field.message_type());
    case FieldDescriptor::CPPTYPE_STRING:
      schema["type"] = "string";
      AddStringBounds(options, schema);
      return schema;
    case FieldDescriptor::CPPTYPE_BOOL:
      schema["type"] = "boolean";
      return schema;
    case FieldDescriptor::CPPTYPE_DOUBLE:
      schema["type"] = "number";
      schema["format"] = "double";
      break;
    case FieldDescriptor::CPPTYPE_INT32:
      schema["type"] = "integer";
      schema["format"] = "int32";
      break;
    default:
      schema["type"] = "integer";
      schema["format"] = "int64";
      break;
  }
  AddNumberBounds(options, schema);
  return schema;
}

Json ListSchema(const FieldDescriptor& field) {
  const FieldSchema& options = SchemaOf(field);
  Json schema = {{"type", "array"}, {"items", ItemSchema(field)}};
  if (options.has_min_items()) schema["minItems"] = options.min_items();
  if (options.has_max_items()) schema["maxItems"] = options.max_items();
  if (!options.list_map_key().empty()) {
    schema["x-kubernetes-list-type"] = "map";
    schema["x-kubernetes-list-map-keys"] = Json::array({options.list_map_key()});
  }
  return schema;
}

// An API server runs a schema's rules over its literal defaults, so nested defaults are written
// out.
void FillDefaults(const Json& schema, Json& value) {
  if (!value.is_object() || !schema.contains("properties")) return;
  for (const auto& [name, property] : schema["properties"].items()) {
    if (!value.contains(name) && property.contains("default")) value[name] = property["default"];
    if (value.contains(name)) FillDefaults(property, value[name]);
  }
}

Json FieldSchemaJson(const FieldDescriptor& field) {
  Json schema = field.is_repeated() ? ListSchema(field) : ItemSchema(field);
  const std::string comment = CommentOf(field);
  if (!comment.empty()) schema["description"] = comment;
  const FieldSchema& options = SchemaOf(field);
  if (!options.default_().empty()) {
    Json value = ParseOption(options.default_());
    FillDefaults(schema, value);
    schema["default"] = std::move(value);
  }
  return schema;
}

// The rules are put on the parent, because a rule on the field itself is not run when the field is
// added or removed.
void AddTransitionRules(const FieldDescriptor& field, Json& schema) {
  const FieldSchema& options = SchemaOf(field);
  const std::string& name = field.json_name();
  const std::string presence = absl::StrCat("has(self.", name, ") == has(oldSelf.", name, ")");
  if (!options.fixed_presence().empty()) {
    AddRule(schema, presence, absl::StrCat("must not change: ", options.fixed_presence()), name);
  }
  if (!options.immutable().empty()) {
    AddRule(schema,
            absl::StrCat(presence, " && (!has(self.", name, ") || self.", name, " == oldSelf.",
                         name, ")"),
            absl::StrCat("must not change: ", options.immutable()), name);
  }
}

std::string Map(const std::function<std::string(const ModelShape&)>& value) {
  const auto entry = [&value](std::string* out, const ModelPreset& preset) {
    absl::StrAppend(out, "'", preset.name, "': ", value(preset.shape));
  };
  return absl::StrCat("{", absl::StrJoin(planner::ModelPresets(), ", ", entry), "}");
}

std::string Numbers(int32_t ModelShape::* member) {
  return Map([member](const ModelShape& shape) { return absl::StrCat(shape.*member); });
}

Json Columns(const v1alpha1::Kind& kind) {
  Json columns = Json::array();
  for (const v1alpha1::PrintColumn& column : kind.columns()) {
    columns.push_back(
        {{"name", column.name()}, {"type", column.type()}, {"jsonPath", column.path()}});
  }
  return columns;
}

Json RootSchema(const Descriptor& root) {
  Json schema = MakeSchema(root);
  schema["properties"]["apiVersion"] = {
      {"type", "string"}, {"description", "The version of this schema of the object."}};
  schema["properties"]["kind"] = {{"type", "string"}, {"description", "The kind of the object."}};
  schema["properties"]["metadata"] = {{"type", "object"}};
  return schema;
}

}  // namespace

std::string ExpandPresetMaps(absl::string_view cel) {
  return absl::StrReplaceAll(
      cel, {{"$presets.width", Numbers(&ModelShape::width)},
            {"$presets.heads", Numbers(&ModelShape::heads)},
            {"$presets.positions", Numbers(&ModelShape::positions)},
            // Where every head has keys and values of its own, any number of heads will do.
            {"$presets.keyValueHeads", Map([](const ModelShape& shape) {
               return absl::StrCat(std::max(1, shape.key_value_heads));
             })},
            {"$presets.family", Map([](const ModelShape& shape) {
               return absl::StrCat("'", planner::Name(shape.family), "'");
             })}});
}

Json MakeSchema(const Descriptor& message) {
  if (control::IsRaw(message)) {
    Json schema = ParseOption(SchemaOf(message).raw_schema());
    schema["description"] = CommentOf(message);
    return schema;
  }
  Json schema = {{"type", "object"}, {"properties", Json::object()}};
  const std::string comment = CommentOf(message);
  if (!comment.empty()) schema["description"] = comment;
  for (int i = 0; i < message.field_count(); ++i) {
    const FieldDescriptor& field = *message.field(i);
    schema["properties"][field.json_name()] = FieldSchemaJson(field);
    if (SchemaOf(field).required()) schema["required"].push_back(field.json_name());
    AddTransitionRules(field, schema);
  }
  for (const v1alpha1::Rule& rule : SchemaOf(message).rules()) {
    AddRule(schema, ExpandPresetMaps(rule.cel()), rule.message(), rule.field());
  }
  return schema;
}

Json MakeCrd(const Descriptor& root) {
  const v1alpha1::Kind& kind = SchemaOf(root).kind();
  Json names = {{"kind", kind.kind()},
                {"listKind", absl::StrCat(kind.kind(), "List")},
                {"plural", kind.plural()},
                {"singular", kind.plural().substr(0, kind.plural().size() - 1)}};
  for (const std::string& name : kind.short_names()) names["shortNames"].push_back(name);
  for (const std::string& name : kind.categories()) names["categories"].push_back(name);
  const Json scale = {{"specReplicasPath", ".spec.workers.count"},
                      {"statusReplicasPath", ".status.workers.ready"},
                      {"labelSelectorPath", ".status.selector"}};
  Json subresources = {{"status", Json::object()}};
  if (kind.scalable()) subresources["scale"] = scale;
  const Json version = {{"name", kind.version()},
                        {"served", true},
                        {"storage", true},
                        {"additionalPrinterColumns", Columns(kind)},
                        {"subresources", subresources},
                        {"schema", {{"openAPIV3Schema", RootSchema(root)}}}};
  return {{"apiVersion", "apiextensions.k8s.io/v1"},
          {"kind", "CustomResourceDefinition"},
          {"metadata", {{"name", absl::StrCat(kind.plural(), ".", kind.group())}}},
          {"spec",
           {{"group", kind.group()},
            {"names", names},
            {"scope", kind.cluster_scoped() ? "Cluster" : "Namespaced"},
            {"versions", Json::array({version})}}}};
}

}  // namespace muster::schema
