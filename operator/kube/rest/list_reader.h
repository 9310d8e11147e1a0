#ifndef MUSTER_OPERATOR_KUBE_REST_LIST_READER_H_
#define MUSTER_OPERATOR_KUBE_REST_LIST_READER_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/json.h"
#include "operator/kube/proto/proto_object.h"
#include "operator/kube/rest/proto_stream.h"

namespace muster::kube {

// The body of a list response, protobuf or JSON, whichever the server chose. Protobuf's items are
// visited as they come, JSON's at the end. Not thread-safe.
class ListReader {
 public:
  // `plan` null: JSON is what was asked for.
  ListReader(std::unique_ptr<ProtoPlan> plan, std::function<void(Json)> visit);

  bool takes_protobuf() const { return proto_ != nullptr; }
  // `limit` is for JSON, which is held whole.
  absl::Status Feed(std::string_view chunk, size_t limit);
  // The list's metadata.
  absl::StatusOr<Json> Finish();

 private:
  absl::StatusOr<Json> FinishJson();

  const std::function<void(Json)> visit_;
  std::unique_ptr<ProtoListDecoder> proto_;
  std::string text_;  // what has come of JSON; of protobuf until it can be told
  bool told_ = false;
  bool is_proto_ = false;
};

}  // namespace muster::kube

#endif  // MUSTER_OPERATOR_KUBE_REST_LIST_READER_H_
