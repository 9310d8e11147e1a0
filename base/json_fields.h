#ifndef MUSTER_BASE_JSON_FIELDS_H_
#define MUSTER_BASE_JSON_FIELDS_H_

#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"

// Reads Kubernetes objects. A field that is absent, or of an unexpected type, reads as empty.
namespace muster {

const Json* FindField(const Json& object, std::initializer_list<const char*> path);
std::string StringField(const Json& object, const char* name);
bool BoolField(const Json& object, const char* name);
std::optional<int64_t> IntegerField(const Json& object, const char* name);
const Json& ArrayField(const Json& object, const char* name);   // an array
const Json& ObjectField(const Json& object, const char* name);  // an object
std::vector<std::string> StringsField(const Json& object, const char* name);
std::map<std::string, std::string> LabelField(const Json& object, const char* name);

}  // namespace muster

#endif  // MUSTER_BASE_JSON_FIELDS_H_
