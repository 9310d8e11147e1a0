#include "base/json_fields.h"

namespace muster {

const Json* FindField(const Json& object, std::initializer_list<const char*> path) {
  const Json* at = &object;
  for (const char* name : path) {
    if (!at->is_object()) return nullptr;
    const auto it = at->find(name);
    if (it == at->end()) return nullptr;
    at = &*it;
  }
  return at;
}

std::string StringField(const Json& object, const char* name) {
  const Json* field = FindField(object, {name});
  return field != nullptr && field->is_string() ? field->get<std::string>() : "";
}

bool BoolField(const Json& object, const char* name) {
  const Json* field = FindField(object, {name});
  return field != nullptr && field->is_boolean() && field->get<bool>();
}

std::optional<int64_t> IntegerField(const Json& object, const char* name) {
  const Json* field = FindField(object, {name});
  if (field == nullptr || !field->is_number_integer()) return std::nullopt;
  return field->get<int64_t>();
}

const Json& ArrayField(const Json& object, const char* name) {
  static const Json& none = *new Json(Json::array());
  const Json* field = FindField(object, {name});
  return field != nullptr && field->is_array() ? *field : none;
}

const Json& ObjectField(const Json& object, const char* name) {
  static const Json& none = *new Json(Json::object());
  const Json* field = FindField(object, {name});
  return field != nullptr && field->is_object() ? *field : none;
}

std::vector<std::string> StringsField(const Json& object, const char* name) {
  std::vector<std::string> strings;
  for (const Json& item : ArrayField(object, name)) {
    if (item.is_string()) strings.push_back(item.get<std::string>());
  }
  return strings;
}

std::map<std::string, std::string> LabelField(const Json& object, const char* name) {
  std::map<std::string, std::string> labels;
  for (const auto& [key, value] : ObjectField(object, name).items()) {
    if (value.is_string()) labels.emplace(key, value.get<std::string>());
  }
  return labels;
}

}  // namespace muster
