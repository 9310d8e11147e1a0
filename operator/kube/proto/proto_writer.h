#ifndef MUSTER_OPERATOR_KUBE_PROTO_PROTO_WRITER_H_
#define MUSTER_OPERATOR_KUBE_PROTO_PROTO_WRITER_H_

#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "operator/kube/proto/proto_schema.h"

namespace muster::kube {

// Encodes `object` as a protobuf message. Returns nothing if the schema cannot express a part of
// it: an unknown field, a value of another type or range, a time. The caller then sends JSON, for
// which the server also has better error messages. apiVersion and kind at the top level are
// skipped, since they belong to the envelope. Pure.
std::optional<std::string> WriteProto(const Json& object, const ProtoMessage& message);

// Encodes `object` in an envelope ("k8s\0" and its type), as servers accept it.
std::optional<std::string> WriteProtoEnvelope(std::string_view api_version, std::string_view kind,
                                              const Json& object, const ProtoMessage& message);

}  // namespace muster::kube

#endif  // MUSTER_OPERATOR_KUBE_PROTO_PROTO_WRITER_H_
