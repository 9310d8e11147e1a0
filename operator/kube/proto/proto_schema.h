#ifndef MUSTER_OPERATOR_KUBE_PROTO_PROTO_SCHEMA_H_
#define MUSTER_OPERATOR_KUBE_PROTO_PROTO_SCHEMA_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "operator/kube/resource_type.h"

// The protobuf form of Kubernetes' own types, as far as it is read or written here. Field numbers
// are from the generated.proto files of k8s.io/api and k8s.io/apimachinery, and numbers are never
// reused. Constants with static storage.
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
  std::string_view name;  // in JSON; empty: an inlined message
  Kind kind = Kind::kString;
  bool repeated = false;
  // True if JSON has the field when it is zero or false: pointers in Go, and fields without
  // omitempty. The wire has a zero for every field that is no pointer, so other zeros are dropped.
  // For a message it means that an empty one is not the same as an absent one.
  bool keeps_zero = false;
  const ProtoMessage* message = nullptr;
};

struct ProtoMessage {
  const ProtoField* fields = nullptr;
  size_t size = 0;
  // True if every field that the server may set is listed.
  bool complete = false;

  const ProtoField* begin() const { return fields; }
  const ProtoField* end() const { return fields + size; }
};

// Returns null for types that servers have in JSON only (custom resources) and for types that are
// not read in volume.
const ProtoMessage* ProtoMessageOf(const ResourceType& type);
const ProtoMessage& ProtoPod();
const ProtoMessage& ProtoBinding();
const ProtoMessage& ProtoListMeta();
const ProtoMessage& ProtoStatus();

}  // namespace muster::kube

#endif  // MUSTER_OPERATOR_KUBE_PROTO_PROTO_SCHEMA_H_
