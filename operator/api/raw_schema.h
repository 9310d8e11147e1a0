#ifndef MUSTER_OPERATOR_API_RAW_SCHEMA_H_
#define MUSTER_OPERATOR_API_RAW_SCHEMA_H_

#include "absl/strings/string_view.h"
#include "base/field_error.h"
#include "base/json.h"

namespace muster::control {

// Checks JSON against a structural schema: type, properties, items, required, maxItems, minLength,
// maxLength. Fields that the schema does not name are accepted. Appends every error. Thread-safe.
void CheckRaw(const Json& schema, const Json& json, absl::string_view path, FieldErrors& errors);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_API_RAW_SCHEMA_H_
