#ifndef MUSTER_BASE_JSON_FIELDS_H_
#define MUSTER_BASE_JSON_FIELDS_H_

#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

// Reads JSON of unknown shape. A field that is absent or of an unexpected type reads as empty, and
// so does every field of a value that is not an object. Never throws.
namespace muster {

// Returns the value at a path of object keys, or null if it is absent. Copies no key.
const Json* FindField(const Json& object, std::initializer_list<std::string_view> path);
// Returns the value, of any type; JSON's null if it is absent.
const Json& ValueField(const Json& object, std::string_view name);
std::string StringField(const Json& object, std::string_view name);
bool BoolField(const Json& object, std::string_view name);
std::optional<int64_t> IntegerField(const Json& object, std::string_view name);
// Returns any number without its fraction; 0 if the field is absent or not a number.
int64_t NumberField(const Json& object, std::string_view name);
// Return a list and an object; an empty one of that type if the field is absent.
const Json& ArrayField(const Json& object, std::string_view name);
const Json& ObjectField(const Json& object, std::string_view name);
std::vector<std::string> StringsField(const Json& object, std::string_view name);
std::map<std::string, std::string> LabelField(const Json& object, std::string_view name);

}  // namespace muster

#endif  // MUSTER_BASE_JSON_FIELDS_H_
