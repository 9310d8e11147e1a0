#ifndef MUSTER_OPERATOR_KUBE_PROTO_PROTO_WRITER_H_
#define MUSTER_OPERATOR_KUBE_PROTO_PROTO_WRITER_H_

#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "operator/kube/proto/proto_schema.h"

namespace muster::kube {

// What stands in `object`, as the bytes of a message. Nothing when something in it is not what the
// schema says how to write: an unknown field, a value of another type or range, a time. Then it has
// to go as JSON, which the server judges with better words. apiVersion and kind, which stand around
// a message, are passed over at its top. Pure.
std::optional<std::string> WriteProto(const Json& object, const ProtoMessage& message);

// The same inside of "k8s\0" and its type, as servers take it.
std::optional<std::string> WriteProtoEnvelope(std::string_view api_version, std::string_view kind,
                                              const Json& object, const ProtoMessage& message);

}  // namespace muster::kube

#endif  // MUSTER_OPERATOR_KUBE_PROTO_PROTO_WRITER_H_
