#ifndef MUSTER_OPERATOR_KUBE_REST_PROTO_STREAM_H_
#define MUSTER_OPERATOR_KUBE_REST_PROTO_STREAM_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/json.h"
#include "operator/kube/api.h"
#include "operator/kube/proto/proto_object.h"
#include "operator/kube/proto/wire_reader.h"
#include "operator/kube/rest/event_decoder.h"

namespace muster::kube {

// Decodes the body of a watch response as application/vnd.kubernetes.protobuf: frames of a length
// (four bytes, big-endian) and a WatchEvent.
class ProtoWatchDecoder final : public EventDecoder {
 public:
  explicit ProtoWatchDecoder(std::unique_ptr<ProtoPlan> plan,
                             size_t max_event_bytes = kMaxEventBytes)
      : plan_(std::move(plan)), max_bytes_(max_event_bytes) {}

  absl::Status Feed(std::string_view chunk) override;
  absl::StatusOr<std::optional<WatchEvent>> Next() override;
  absl::Status Finish() const override;

 private:
  absl::StatusOr<WatchEvent> Decode(std::string_view frame) const;

  const std::unique_ptr<ProtoPlan> plan_;
  const size_t max_bytes_;
  std::string buffer_;
  size_t begin_ = 0;  // of the first byte not handed out
  absl::Status failed_;
};

// Decodes the body of a list response as application/vnd.kubernetes.protobuf. A chunk may end
// anywhere. Items are handed out as they arrive, so at most one of them is held as bytes. The first
// error is final. Not thread-safe.
class ProtoListDecoder {
 public:
  using Visit = std::function<void(Json)>;

  ProtoListDecoder(std::unique_ptr<ProtoPlan> plan, Visit visit,
                   size_t max_item_bytes = kMaxEventBytes);

  absl::Status Feed(std::string_view chunk);
  // Called at the end of the body; returns the list's metadata (resourceVersion, continue).
  absl::StatusOr<Json> Finish();

 private:
  // Consumes the next piece of the buffer. Returns false if it is not complete yet.
  absl::StatusOr<bool> Step();
  absl::StatusOr<bool> StepEnvelope();
  absl::StatusOr<bool> StepList();
  absl::StatusOr<bool> Whole(WireReader& reader, WireField& field, bool got);

  const std::unique_ptr<ProtoPlan> plan_;
  const std::unique_ptr<ProtoPlan> meta_plan_;
  const Visit visit_;
  const size_t max_bytes_;
  std::string buffer_;
  size_t begin_ = 0;
  bool opened_ = false;             // the magic bytes have been read
  std::optional<uint64_t> inside_;  // bytes of the list still to come
  std::string kind_;                // from the envelope
  bool listed_ = false;             // the list has been read
  Json meta_ = Json::object();
  absl::Status failed_;
};

}  // namespace muster::kube

#endif  // MUSTER_OPERATOR_KUBE_REST_PROTO_STREAM_H_
