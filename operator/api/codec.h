#ifndef MUSTER_OPERATOR_API_CODEC_H_
#define MUSTER_OPERATOR_API_CODEC_H_

#include <string>

#include "absl/strings/string_view.h"
#include "base/field_error.h"
#include "base/json.h"
#include "google/protobuf/message.h"

namespace muster::control {

// Converts between JSON and the messages of training_job.proto by Kubernetes' conventions:
// lowerCamelCase names, integers as numbers; an absent field stays absent, and null counts as
// absent. A message marked raw_schema is a JSON object kept whole. Stateless; thread-safe.

enum class UnknownFields {
  kReport,  // every one is an error that names the nearest known field
  kIgnore,  // an API server with a newer schema may send them
};

// Decodes into `message`, which is cleared first. Returns every error, with paths below `path`;
// fields with an error are left absent.
FieldErrors DecodeMessage(const Json& json, absl::string_view path, UnknownFields unknown,
                          google::protobuf::Message& message);

// Encodes the fields that are present. Numbers that JSON cannot hold (NaN, infinity) are left out.
Json EncodeMessage(const google::protobuf::Message& message);

// Encodes the fields that are present, and keeps the parts of `original` (the JSON from which the
// message was decoded) that have no field in the message. A list that still decodes to the same
// values stays unchanged; any other is replaced.
Json EncodeMessage(const google::protobuf::Message& message, const Json& original);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_API_CODEC_H_
