#ifndef MUSTER_OPERATOR_KUBE_WATCH_DECODER_H_
#define MUSTER_OPERATOR_KUBE_WATCH_DECODER_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "operator/kube/api.h"

namespace muster::kube {

// Turns the body of a watch response, in whatever chunks it arrives, into events: newline-delimited
// {"type", "object"} documents. A cut may fall anywhere, also inside a UTF-8 sequence. The first
// error is final. Not thread-safe.
class WatchDecoder {
 public:
  explicit WatchDecoder(size_t max_event_bytes = size_t{16} << 20) : max_bytes_(max_event_bytes) {}

  // Takes the next bytes. kResourceExhausted when one event is longer than the limit.
  absl::Status Feed(std::string_view chunk);
  // The next whole event, or nothing. An ERROR event becomes its status (410: kOutOfRange,
  // Expired); bytes that are no event are kDataLoss.
  absl::StatusOr<std::optional<WatchEvent>> Next();
  // At the end of the body: kDataLoss when it was cut inside an event.
  absl::Status Finish() const;

 private:
  absl::StatusOr<std::optional<WatchEvent>> Decode(std::string_view line);

  const size_t max_bytes_;
  std::string buffer_;
  size_t begin_ = 0;    // of the first byte not handed out
  size_t scanned_ = 0;  // no newline in [begin_, scanned_)
  absl::Status failed_;
};

}  // namespace muster::kube

#endif  // MUSTER_OPERATOR_KUBE_WATCH_DECODER_H_
