// Reads the body of a watch response from any bytes in any chunks: no crash, no dependence on the
// chunks, and every accepted event can be applied (it has a version, and a name unless it is a
// bookmark).
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/json.h"
#include "operator/kube/api.h"
#include "operator/kube/object_meta.h"
#include "operator/kube/rest/watch_decoder.h"

namespace muster::kube {
namespace {

struct Decoded {
  std::vector<std::string> events;
  absl::Status end;
};

Decoded Decode(std::string_view bytes, size_t chunk) {
  Decoded result;
  WatchDecoder decoder;
  for (size_t at = 0; at < bytes.size() && result.end.ok(); at += chunk) {
    result.end = decoder.Feed(bytes.substr(at, chunk));
    while (result.end.ok()) {
      const absl::StatusOr<std::optional<WatchEvent>> event = decoder.Next();
      result.end = event.status();
      if (!event.ok() || !event->has_value()) break;
      const WatchEvent& got = **event;
      if (ResourceVersionOf(got.object).empty()) std::abort();
      if (got.type != WatchEvent::Type::kBookmark && NameOf(got.object).empty()) std::abort();
      result.events.push_back(DumpJson(got.object));
    }
  }
  if (result.end.ok()) result.end = decoder.Finish();
  return result;
}

}  // namespace
}  // namespace muster::kube

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const auto whole = muster::kube::Decode(bytes, bytes.size() + 1);
  const auto pieces = muster::kube::Decode(bytes, 1 + data[0] % 13);
  if (whole.events != pieces.events || whole.end != pieces.end) std::abort();
  return 0;
}
