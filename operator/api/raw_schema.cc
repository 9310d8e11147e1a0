#include "operator/api/raw_schema.h"

#include <cstddef>
#include <string>

#include "absl/strings/str_cat.h"
#include "operator/api/schema.h"

namespace muster::control {
namespace {

// Returns the limit `name` of the schema, or `otherwise` if it has none.
size_t Limit(const Json& schema, const char* name, size_t otherwise) {
  const auto found = schema.find(name);
  return found == schema.end() ? otherwise : found->get<size_t>();
}

void CheckObject(const Json& schema, const Json& json, absl::string_view path,
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

void CheckList(const Json& schema, const Json& json, absl::string_view path, FieldErrors& errors) {
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

void CheckString(const Json& schema, const Json& json, absl::string_view path,
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

}  // namespace

void CheckRaw(const Json& schema, const Json& json, absl::string_view path, FieldErrors& errors) {
  const Json type = schema.value("/type"_json_pointer, Json());
  if (type == "object") return CheckObject(schema, json, path, errors);
  if (type == "array") return CheckList(schema, json, path, errors);
  if (type == "string") return CheckString(schema, json, path, errors);
}

}  // namespace muster::control
