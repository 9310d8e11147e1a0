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

// Turns the chunks of a watch response's body into events. A chunk may end anywhere. The first
// error is final. Not thread-safe.
class EventDecoder {
 public:
  virtual ~EventDecoder() = default;
  // Takes the next bytes. kResourceExhausted if one event is longer than the limit.
  virtual absl::Status Feed(std::string_view chunk) = 0;
  // Returns the next complete event, or nothing. An ERROR event becomes its status (410:
  // kOutOfRange, Expired); bytes that form no event are kDataLoss.
  virtual absl::StatusOr<std::optional<WatchEvent>> Next() = 0;
  // Called at the end of the body; kDataLoss if it ended inside an event.
  virtual absl::Status Finish() const = 0;
};

inline constexpr size_t kMaxEventBytes = size_t{16} << 20;

// Makes an event of its type word and its object, checking that the word is known and that the
// object can be applied. An ERROR's object (metav1.Status) is returned as a status.
absl::StatusOr<WatchEvent> MakeEvent(const std::string& word, Json object);
absl::Status DamagedStream(std::string_view why);

// Empties `buffer` once all of it was handed out (`begin` is the first byte that was not), and
// frees a large one: a decoder would otherwise keep the megabytes of the first list for as long as
// its watch lives.
void ReleaseHandedOut(std::string& buffer, size_t& begin);

}  // namespace muster::kube

#endif  // MUSTER_OPERATOR_KUBE_REST_EVENT_DECODER_H_
