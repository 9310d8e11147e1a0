#include "operator/kube/rest/watch_decoder.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/json.h"
#include "base/status_macros.h"
#include "operator/kube/object_meta.h"

namespace muster::kube {
namespace {

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
  // Only the unfinished event can grow without bound; complete ones are removed by Next.
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
    begin_ = newline + 1;
    ReleaseHandedOut(buffer_, begin_);
    scanned_ = begin_;
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
  if (!json.ok()) return DamagedStream(std::string(json.status().message()));
  Json* object = const_cast<Json*>(Find(*json, {"object"}));
  if (object == nullptr || !object->is_object()) return DamagedStream("an event without an object");
  const std::string word = StringAt(*json, {"type"});
  MUSTER_ASSIGN_OR_RETURN(WatchEvent event, MakeEvent(word, std::move(*object)));
  return std::optional<WatchEvent>(std::move(event));
}

absl::Status WatchDecoder::Finish() const {
  if (!failed_.ok()) return failed_;
  if (IsBlank(std::string_view(buffer_).substr(begin_))) return absl::OkStatus();
  return DamagedStream("it ends inside an event");
}

}  // namespace muster::kube
