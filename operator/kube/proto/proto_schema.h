#ifndef MUSTER_OPERATOR_KUBE_PROTO_PROTO_SCHEMA_H_
#define MUSTER_OPERATOR_KUBE_PROTO_PROTO_SCHEMA_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "operator/kube/resource_type.h"

// The protobuf form of Kubernetes' own types, as far as it is read or written here: field numbers
// from the generated.proto files of k8s.io/api and k8s.io/apimachinery (numbers are never given
// anew). Constants with static storage.
namespace muster::kube {

struct ProtoMessage;

struct ProtoField {
  enum class Kind {
    kString,
    kInt,
    kBool,
    kTime,        // seconds and nanos; RFC 3339 in JSON
    kQuantity,    // a message around a string
    kMessage,     // `message`
    kStrings,     // map<string, string>
    kQuantities,  // map<string, Quantity>
  };
  uint32_t number = 0;
  std::string_view name;  // in JSON; empty: a message whose fields stand where it would
  Kind kind = Kind::kString;
  bool repeated = false;
  // Zero and false stand on the wire for every field that is no pointer in Go; JSON has those of
  // the few that are not left out when empty. Of a message: it means something when it is empty.
  bool keeps_zero = false;
  const ProtoMessage* message = nullptr;
};

struct ProtoMessage {
  const ProtoField* fields = nullptr;
  size_t size = 0;
  // Every field that the server may set is here.
  bool complete = false;

  const ProtoField* begin() const { return fields; }
  const ProtoField* end() const { return fields + size; }
};

// Null for types that servers have in JSON only (custom resources), or that are not read in volume.
const ProtoMessage* ProtoMessageOf(const ResourceType& type);
const ProtoMessage& ProtoPod();
const ProtoMessage& ProtoBinding();
const ProtoMessage& ProtoListMeta();
const ProtoMessage& ProtoStatus();

}  // namespace muster::kube

#endif  // MUSTER_OPERATOR_KUBE_PROTO_PROTO_SCHEMA_H_
