#ifndef MUSTER_OPERATOR_KUBE_REST_EVENT_DECODER_H_
#define MUSTER_OPERATOR_KUBE_REST_EVENT_DECODER_H_

#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/json.h"
#include "operator/kube/api.h"

namespace muster::kube {

// Turns the body of a watch response, in whatever chunks it arrives, into events. A cut may fall
// anywhere. The first error is final. Not thread-safe.
class EventDecoder {
 public:
  virtual ~EventDecoder() = default;
  // Takes the next bytes. kResourceExhausted when one event is longer than the limit.
  virtual absl::Status Feed(std::string_view chunk) = 0;
  // The next whole event, or nothing. An ERROR event becomes its status (410: kOutOfRange,
  // Expired); bytes that are no event are kDataLoss.
  virtual absl::StatusOr<std::optional<WatchEvent>> Next() = 0;
  // At the end of the body: kDataLoss when it was cut inside an event.
  virtual absl::Status Finish() const = 0;
};

inline constexpr size_t kMaxEventBytes = size_t{16} << 20;

// What is left of a decoded event to check: its type's word, and that the object can be applied. An
// ERROR's object (metav1.Status) becomes a status.
absl::StatusOr<WatchEvent> MakeEvent(const std::string& word, Json object);
absl::Status DamagedStream(std::string_view why);

// Between events a decoder holds next to nothing: a first list would leave megabytes behind for as
// long as its watch lives. `begin` is the first byte of `buffer` that was not handed out.
void ReleaseHandedOut(std::string& buffer, size_t& begin);

}  // namespace muster::kube

#endif  // MUSTER_OPERATOR_KUBE_REST_EVENT_DECODER_H_
