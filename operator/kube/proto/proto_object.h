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

// A plan for reading the fields of a message that a mask selects, made once for many messages.
// Holds no reference to the mask. Immutable, so thread-safe.
class ProtoPlan {
 public:
  // Returns null if the mask selects a field that the schema cannot read, for example one that the
  // type does not have; the caller then requests JSON. apiVersion and kind are ignored, since they
  // are in the envelope of a message.
  static std::unique_ptr<ProtoPlan> Make(const FieldMask::Node& fields,
                                         const ProtoMessage& message);
  static std::unique_ptr<ProtoPlan> Make(const ProtoMessage& whole);

  // Returns the fields as the object has them in JSON. kDataLoss if the message is cut or damaged.
  absl::StatusOr<Json> Read(std::string_view message) const;

 private:
  struct Step {
    const ProtoField* field = nullptr;  // null: skipped
    std::unique_ptr<ProtoPlan> below;   // for a message
    std::vector<std::string> keys;      // for a map; empty: all
  };

  bool Add(const ProtoField& field, const FieldMask::Node& wanted);
  bool AddNamed(const ProtoMessage& message, const std::string& name,
                const FieldMask::Node& wanted);
  bool ReadInto(std::string_view message, Json& object) const;
  static bool ReadMap(const Step& step, std::string_view entry, Json& object);
  static bool ReadField(const Step& step, uint64_t integer, std::string_view bytes, Json& object);

  std::vector<Step> steps_;  // by field number
};

// The envelope that servers put around an object: "k8s\0", then type and bytes.
struct ProtoEnvelope {
  std::string_view kind;
  std::string_view object;
};
bool IsProto(std::string_view body);
absl::StatusOr<ProtoEnvelope> OpenEnvelope(std::string_view body);
// Reads a metav1.Status, including its kind, from the body of an error response.
absl::StatusOr<Json> ReadProtoStatus(std::string_view body);

}  // namespace muster::kube

#endif  // MUSTER_OPERATOR_KUBE_PROTO_PROTO_OBJECT_H_
