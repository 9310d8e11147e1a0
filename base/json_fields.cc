#include "base/json_fields.h"

namespace muster {

const Json* FindField(const Json& object, std::initializer_list<std::string_view> path) {
  const Json* at = &object;
  for (const std::string_view name : path) {
    if (!at->is_object()) return nullptr;
    const auto it = at->find(name);
    if (it == at->end()) return nullptr;
    at = &*it;
  }
  return at;
}

const Json& ValueField(const Json& object, std::string_view name) {
  static const Json& none = *new Json();
  const Json* field = FindField(object, {name});
  return field != nullptr ? *field : none;
}

std::string StringField(const Json& object, std::string_view name) {
  const Json* field = FindField(object, {name});
  return field != nullptr && field->is_string() ? field->get<std::string>() : "";
}

bool BoolField(const Json& object, std::string_view name) {
  const Json* field = FindField(object, {name});
  return field != nullptr && field->is_boolean() && field->get<bool>();
}

std::optional<int64_t> IntegerField(const Json& object, std::string_view name) {
  const Json* field = FindField(object, {name});
  if (field == nullptr || !field->is_number_integer()) return std::nullopt;
  return field->get<int64_t>();
}

int64_t NumberField(const Json& object, std::string_view name) {
  const Json* field = FindField(object, {name});
  return field != nullptr && field->is_number() ? field->get<int64_t>() : 0;
}

const Json& ArrayField(const Json& object, std::string_view name) {
  static const Json& none = *new Json(Json::array());
  const Json* field = FindField(object, {name});
  return field != nullptr && field->is_array() ? *field : none;
}

const Json& ObjectField(const Json& object, std::string_view name) {
  static const Json& none = *new Json(Json::object());
  const Json* field = FindField(object, {name});
  return field != nullptr && field->is_object() ? *field : none;
}

std::vector<std::string> StringsField(const Json& object, std::string_view name) {
  std::vector<std::string> strings;
  for (const Json& item : ArrayField(object, name)) {
    if (item.is_string()) strings.push_back(item.get<std::string>());
  }
  return strings;
}

std::map<std::string, std::string> LabelField(const Json& object, std::string_view name) {
  std::map<std::string, std::string> labels;
  for (const auto& [key, value] : ObjectField(object, name).items()) {
    if (value.is_string()) labels.emplace(key, value.get<std::string>());
  }
  return labels;
}

}  // namespace muster
