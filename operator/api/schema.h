#ifndef MUSTER_OPERATOR_API_SCHEMA_H_
#define MUSTER_OPERATOR_API_SCHEMA_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "base/json.h"
#include "google/protobuf/descriptor.h"
#include "proto/muster/v1alpha1/schema_options.pb.h"

namespace muster::control {

// Reads the options of schema_options.proto from descriptors. Stateless; thread-safe.

const v1alpha1::FieldSchema& SchemaOf(const google::protobuf::FieldDescriptor& field);
const v1alpha1::MessageSchema& SchemaOf(const google::protobuf::Descriptor& message);

// A message whose one string field holds a whole JSON object.
bool IsRaw(const google::protobuf::Descriptor& message);
// That field.
const google::protobuf::FieldDescriptor& RawField(const google::protobuf::Descriptor& message);

// JSON names of all fields, in declaration order.
std::vector<std::string> FieldNames(const google::protobuf::Descriptor& message);

// The candidate that `word` is most likely a slip of the pen for; empty when none is near.
std::string Nearest(absl::string_view word, const std::vector<std::string>& candidates);

// "a, b or c".
std::string JoinOr(const std::vector<std::string>& words);

// A value for an error sentence: `the string "two"`, `2.5`, `a list`; long ones are cut.
std::string Describe(const Json& json);

// The pattern of a field with `duration`, and the same check in C++: positive, in ms, s, m and h.
inline constexpr char kDurationPattern[] = "^([0-9]+([.][0-9]+)?(ms|s|m|h))+$";
bool IsPositiveDuration(absl::string_view text);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_API_SCHEMA_H_
