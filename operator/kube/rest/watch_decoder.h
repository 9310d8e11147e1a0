#ifndef MUSTER_OPERATOR_KUBE_REST_WATCH_DECODER_H_
#define MUSTER_OPERATOR_KUBE_REST_WATCH_DECODER_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "operator/kube/api.h"
#include "operator/kube/rest/event_decoder.h"

namespace muster::kube {

// Decodes the body of a watch response as JSON: newline-delimited {"type", "object"} documents. A
// chunk may end inside a UTF-8 sequence.
class WatchDecoder final : public EventDecoder {
 public:
  explicit WatchDecoder(size_t max_event_bytes = kMaxEventBytes) : max_bytes_(max_event_bytes) {}

  absl::Status Feed(std::string_view chunk) override;
  absl::StatusOr<std::optional<WatchEvent>> Next() override;
  absl::Status Finish() const override;

 private:
  absl::StatusOr<std::optional<WatchEvent>> Decode(std::string_view line);

  const size_t max_bytes_;
  std::string buffer_;
  size_t begin_ = 0;    // of the first byte not handed out
  size_t scanned_ = 0;  // no newline in [begin_, scanned_)
  absl::Status failed_;
};

}  // namespace muster::kube

#endif  // MUSTER_OPERATOR_KUBE_REST_WATCH_DECODER_H_
