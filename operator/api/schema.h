#ifndef MUSTER_OPERATOR_API_SCHEMA_H_
#define MUSTER_OPERATOR_API_SCHEMA_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "base/json.h"
#include "base/object_store/place.h"
#include "google/protobuf/descriptor.h"
#include "proto/muster/v1alpha1/schema_options.pb.h"

namespace muster::control {

// Readers of the options of schema_options.proto in descriptors. Stateless; thread-safe.

const v1alpha1::FieldSchema& SchemaOf(const google::protobuf::FieldDescriptor& field);
const v1alpha1::MessageSchema& SchemaOf(const google::protobuf::Descriptor& message);

// Returns the only values that the field's text may have: those of its list or of its table. Empty
// if any text is allowed.
std::vector<std::string> ValuesOf(const v1alpha1::FieldSchema& field);

// Returns the kind of place that the field's text must name, or nullopt for any other field.
std::optional<PlaceKind> PlaceOf(const v1alpha1::FieldSchema& field);

// Returns true for a message whose one string field, RawField(), holds a whole JSON object.
bool IsRaw(const google::protobuf::Descriptor& message);
const google::protobuf::FieldDescriptor& RawField(const google::protobuf::Descriptor& message);

// Returns the JSON names of all fields, in declaration order.
std::vector<std::string> FieldNames(const google::protobuf::Descriptor& message);

// Returns the candidate that `word` most likely misspells, ignoring case; empty if all differ too
// much.
std::string Nearest(absl::string_view word, const std::vector<std::string>& candidates);

// Returns the words as "a, b or c".
std::string JoinOr(const std::vector<std::string>& words);

// Returns a value as it appears in an error sentence: `the string "two"`, `2.5`, `a list`; long
// values are cut.
std::string Describe(const Json& json);

// The pattern of a field with `duration`, and the same check in C++, which also requires a positive
// and finite value.
inline constexpr char kDurationPattern[] = "^([0-9]+([.][0-9]+)?(ms|s|m|h))+$";
bool IsPositiveDuration(absl::string_view text);
// Returns true for a duration whose default is "0s". Such a field accepts "0s", which switches the
// feature off; any other value must be positive.
bool IsOffByDefault(const v1alpha1::FieldSchema& duration);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_API_SCHEMA_H_
