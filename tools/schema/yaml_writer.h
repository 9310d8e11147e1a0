#ifndef MUSTER_TOOLS_SCHEMA_YAML_WRITER_H_
#define MUSTER_TOOLS_SCHEMA_YAML_WRITER_H_

#include <string>

#include "base/json.h"

namespace muster::schema {

// Writes JSON as block-style YAML with sorted keys; strings that a YAML 1.1 or 1.2 reader could
// take for another type are quoted. Equal documents give equal bytes. Thread-safe.
std::string WriteYaml(const Json& json);

}  // namespace muster::schema

#endif  // MUSTER_TOOLS_SCHEMA_YAML_WRITER_H_
