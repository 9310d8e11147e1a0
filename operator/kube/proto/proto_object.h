#ifndef MUSTER_OPERATOR_KUBE_PROTO_PROTO_OBJECT_H_
#define MUSTER_OPERATOR_KUBE_PROTO_PROTO_OBJECT_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "base/json.h"
#include "operator/kube/field_mask.h"
#include "operator/kube/proto/proto_schema.h"

namespace muster::kube {

// How to read those fields of a message that a mask selects: made once for many messages. Holds no
// reference to the mask. Immutable, so thread-safe.
class ProtoPlan {
 public:
  // Null when the mask asks for what the schema does not say how to read: then ask the server for
  // JSON. Paths to fields that a type does not have are among these; apiVersion and kind are not,
  // for they stand around a message.
  static std::unique_ptr<ProtoPlan> Make(const FieldMask::Node& fields,
                                         const ProtoMessage& message);
  static std::unique_ptr<ProtoPlan> Make(const ProtoMessage& whole);

  // The fields as the object would have them in JSON. kDataLoss: cut or damaged.
  absl::StatusOr<Json> Read(std::string_view message) const;

 private:
  struct Step {
    const ProtoField* field = nullptr;  // null: passed over
    std::unique_ptr<ProtoPlan> below;   // of a message
    std::vector<std::string> keys;      // of a map; empty: all
  };

  bool Add(const ProtoField& field, const FieldMask::Node& wanted);
  bool AddNamed(const ProtoMessage& message, const std::string& name,
                const FieldMask::Node& wanted);
  bool ReadInto(std::string_view message, Json& object) const;
  static bool ReadMap(const Step& step, std::string_view entry, Json& object);
  static bool ReadField(const Step& step, uint64_t integer, std::string_view bytes, Json& object);

  std::vector<Step> steps_;  // by field number
};

// A whole message around an object, as servers send it: "k8s\0", then type and bytes.
struct ProtoEnvelope {
  std::string_view kind;
  std::string_view object;
};
bool IsProto(std::string_view body);
absl::StatusOr<ProtoEnvelope> OpenEnvelope(std::string_view body);
// A refusal: metav1.Status, with its kind.
absl::StatusOr<Json> ReadProtoStatus(std::string_view body);

}  // namespace muster::kube

#endif  // MUSTER_OPERATOR_KUBE_PROTO_PROTO_OBJECT_H_
