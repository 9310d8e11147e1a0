#include "operator/kube/watch_decoder.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/json.h"
#include "operator/kube/api_error.h"
#include "operator/kube/object_meta.h"

namespace muster::kube {
namespace {

absl::Status NoEvent(std::string_view why) {
  return absl::DataLossError(absl::StrCat("the watch stream is damaged: ", std::string(why)));
}

// metav1.Status -> absl::Status.
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

bool IsBlank(std::string_view line) { return line.find_first_not_of(" \t\r") == line.npos; }

}  // namespace

absl::Status WatchDecoder::Feed(std::string_view chunk) {
  if (!failed_.ok()) return failed_;
  if (begin_ > 0 && begin_ >= buffer_.size() / 2) {
    buffer_.erase(0, begin_);
    scanned_ -= begin_;
    begin_ = 0;
  }
  buffer_.append(chunk);
  // The unfinished event is all that may grow without bound: whole ones are taken out by Next.
  const size_t newline = buffer_.rfind('\n');
  const size_t open = newline == std::string::npos ? begin_ : std::max(begin_, newline + 1);
  if (buffer_.size() - open > max_bytes_) {
    failed_ = absl::ResourceExhaustedError(
        absl::StrCat("a watch event is longer than ", max_bytes_, " bytes"));
  }
  return failed_;
}

absl::StatusOr<std::optional<WatchEvent>> WatchDecoder::Next() {
  while (failed_.ok()) {
    const size_t newline = buffer_.find('\n', scanned_);
    if (newline == std::string::npos) {
      scanned_ = buffer_.size();
      return std::optional<WatchEvent>();
    }
    const std::string_view line = std::string_view(buffer_).substr(begin_, newline - begin_);
    absl::StatusOr<std::optional<WatchEvent>> event = std::optional<WatchEvent>();
    if (!IsBlank(line)) event = Decode(line);
    begin_ = scanned_ = newline + 1;
    if (!event.ok()) failed_ = event.status();
    if (event.ok() && event->has_value()) return event;
  }
  return failed_;
}

absl::StatusOr<std::optional<WatchEvent>> WatchDecoder::Decode(std::string_view line) {
  if (line.size() > max_bytes_) {
    return absl::ResourceExhaustedError(
        absl::StrCat("a watch event is longer than ", max_bytes_, " bytes"));
  }
  absl::StatusOr<Json> json = ParseJson(line, max_bytes_);
  if (!json.ok()) return NoEvent(std::string(json.status().message()));
  Json* object = const_cast<Json*>(Find(*json, {"object"}));
  if (object == nullptr || !object->is_object()) return NoEvent("an event without an object");
  const std::string word = StringAt(*json, {"type"});
  if (word == "ERROR") return StatusOf(*object);
  const std::optional<WatchEvent::Type> type = TypeOf(word);
  if (!type.has_value()) return NoEvent(absl::StrCat("unknown event type \"", word, "\""));
  if (*type != WatchEvent::Type::kBookmark && NameOf(*object).empty()) {
    return NoEvent("an object without a name");
  }
  if (ResourceVersionOf(*object).empty()) return NoEvent("an object without a resourceVersion");
  return WatchEvent{*type, std::move(*object)};
}

absl::Status WatchDecoder::Finish() const {
  if (!failed_.ok()) return failed_;
  if (IsBlank(std::string_view(buffer_).substr(begin_))) return absl::OkStatus();
  return NoEvent("it ends inside an event");
}

}  // namespace muster::kube
