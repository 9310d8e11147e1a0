// Reads protobuf as API servers send it (a watch, a list, a refusal) from any bytes in any chunks:
// no crash, no dependence on the chunks, and every accepted event can be applied.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/json.h"
#include "operator/kube/api.h"
#include "operator/kube/field_mask.h"
#include "operator/kube/object_meta.h"
#include "operator/kube/proto/proto_object.h"
#include "operator/kube/proto/proto_schema.h"
#include "operator/kube/resource_type.h"
#include "operator/kube/rest/proto_stream.h"

namespace muster::kube {
namespace {

struct Decoded {
  std::vector<std::string> objects;
  absl::Status end;
};

std::unique_ptr<ProtoPlan> Plan() {
  static const auto* const fields = new FieldMask(
      {"metadata", "spec.containers.resources", "spec.nodeSelector", "spec.tolerations",
       "status.conditions", "status.containerStatuses.state", "status.phase", "status.startTime"});
  return ProtoPlan::Make(fields->root(), *ProtoMessageOf(kPods));
}

Decoded Watch(std::string_view bytes, size_t chunk) {
  Decoded result;
  ProtoWatchDecoder decoder(Plan());
  for (size_t at = 0; at < bytes.size() && result.end.ok(); at += chunk) {
    result.end = decoder.Feed(bytes.substr(at, chunk));
    while (result.end.ok()) {
      const absl::StatusOr<std::optional<WatchEvent>> event = decoder.Next();
      result.end = event.status();
      if (!event.ok() || !event->has_value()) break;
      const WatchEvent& got = **event;
      if (ResourceVersionOf(got.object).empty()) std::abort();
      if (got.type != WatchEvent::Type::kBookmark && NameOf(got.object).empty()) std::abort();
      result.objects.push_back(DumpJson(got.object));
    }
  }
  if (result.end.ok()) result.end = decoder.Finish();
  return result;
}

Decoded List(std::string_view bytes, size_t chunk) {
  Decoded result;
  ProtoListDecoder decoder(Plan(),
                           [&](const Json& item) { result.objects.push_back(DumpJson(item)); });
  for (size_t at = 0; at < bytes.size() && result.end.ok(); at += chunk) {
    result.end = decoder.Feed(bytes.substr(at, chunk));
  }
  const absl::StatusOr<Json> meta = decoder.Finish();
  result.end = meta.status();
  if (meta.ok()) result.objects.push_back(DumpJson(*meta));
  return result;
}

void Compare(const Decoded& whole, const Decoded& pieces) {
  if (whole.objects != pieces.objects || whole.end != pieces.end) std::abort();
}

}  // namespace
}  // namespace muster::kube

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const size_t chunk = 1 + data[0] % 13;
  muster::kube::Compare(muster::kube::Watch(bytes, bytes.size() + 1),
                        muster::kube::Watch(bytes, chunk));
  muster::kube::Compare(muster::kube::List(bytes, bytes.size() + 1),
                        muster::kube::List(bytes, chunk));
  (void)muster::kube::ReadProtoStatus(bytes);
  return 0;
}
