#ifndef MUSTER_PROTO_MUSTER_V1ALPHA1_KIND_OF_H_
#define MUSTER_PROTO_MUSTER_V1ALPHA1_KIND_OF_H_

#include <string>

#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"

namespace muster::v1alpha1 {

// Returns the name of the field of `kind` that a message of a link or a stream has, such as
// "hello"; "none" if it has none.
inline std::string KindOf(const google::protobuf::Message& message) {
  const google::protobuf::OneofDescriptor* kinds = message.GetDescriptor()->FindOneofByName("kind");
  const google::protobuf::FieldDescriptor* set =
      kinds == nullptr ? nullptr : message.GetReflection()->GetOneofFieldDescriptor(message, kinds);
  return set == nullptr ? "none" : set->name();
}

}  // namespace muster::v1alpha1

#endif  // MUSTER_PROTO_MUSTER_V1ALPHA1_KIND_OF_H_
