#include "operator/kube/rest/event_decoder.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "operator/kube/api_error.h"
#include "operator/kube/object_meta.h"

namespace muster::kube {
namespace {

// Converts a metav1.Status to an absl::Status.
absl::Status StatusOf(const Json& object) {
  const Json* code = Find(object, {"code"});
  const bool valid = code != nullptr && code->is_number_integer() && *code > 0 && *code < 1000;
  const Reason reason =
      ReasonFromKubernetes(StringAt(object, {"reason"}), valid ? code->get<int>() : 0);
  return ApiError(reason, StringAt(object, {"message"}));
}

std::optional<WatchEvent::Type> TypeOf(const std::string& word) {
  if (word == "ADDED") return WatchEvent::Type::kAdded;
  if (word == "MODIFIED") return WatchEvent::Type::kModified;
  if (word == "DELETED") return WatchEvent::Type::kDeleted;
  if (word == "BOOKMARK") return WatchEvent::Type::kBookmark;
  return std::nullopt;
}

constexpr size_t kKeptBytes = size_t{64} << 10;

}  // namespace

void ReleaseHandedOut(std::string& buffer, size_t& begin) {
  if (begin != buffer.size()) return;
  begin = 0;
  buffer.clear();
  if (buffer.capacity() > kKeptBytes) buffer.shrink_to_fit();
}

absl::Status DamagedStream(std::string_view why) {
  return absl::DataLossError(absl::StrCat("the watch stream is damaged: ", std::string(why)));
}

absl::StatusOr<WatchEvent> MakeEvent(const std::string& word, Json object) {
  if (word == "ERROR") return StatusOf(object);
  const std::optional<WatchEvent::Type> type = TypeOf(word);
  if (!type.has_value()) return DamagedStream(absl::StrCat("unknown event type \"", word, "\""));
  if (*type != WatchEvent::Type::kBookmark && NameOf(object).empty()) {
    return DamagedStream("an object without a name");
  }
  if (ResourceVersionOf(object).empty()) {
    return DamagedStream("an object without a resourceVersion");
  }
  return WatchEvent{*type, std::move(object)};
}

}  // namespace muster::kube
