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

// Reads the body of a list response, protobuf or JSON, as the server chose. Items in protobuf are
// visited as they arrive, those in JSON at the end. Not thread-safe.
class ListReader {
 public:
  // A null `plan` means that JSON was requested.
  ListReader(std::unique_ptr<ProtoPlan> plan, std::function<void(Json)> visit);

  bool takes_protobuf() const { return proto_ != nullptr; }
  // `limit` bounds a JSON body, which is held as a whole.
  absl::Status Feed(std::string_view chunk, size_t limit);
  // Returns the list's metadata.
  absl::StatusOr<Json> Finish();

 private:
  absl::StatusOr<Json> FinishJson();

  const std::function<void(Json)> visit_;
  std::unique_ptr<ProtoListDecoder> proto_;
  std::string text_;  // the body if JSON; else its first bytes, until the format is known
  bool told_ = false;
  bool is_proto_ = false;
};

}  // namespace muster::kube

#endif  // MUSTER_OPERATOR_KUBE_REST_LIST_READER_H_
