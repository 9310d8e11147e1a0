#include "operator/kube/rest/list_reader.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "operator/kube/api_error.h"

namespace muster::kube {
namespace {

// The number of magic bytes, enough to recognise protobuf.
constexpr size_t kTelling = 4;

}  // namespace

ListReader::ListReader(std::unique_ptr<ProtoPlan> plan, std::function<void(Json)> visit)
    : visit_(std::move(visit)) {
  if (plan != nullptr) proto_ = std::make_unique<ProtoListDecoder>(std::move(plan), visit_);
}

absl::Status ListReader::Feed(std::string_view chunk, size_t limit) {
  if (is_proto_) return proto_->Feed(chunk);
  if (text_.size() + chunk.size() > limit) {
    return ApiError(Reason::kTooLarge,
                    absl::StrCat("the server's answer is larger than ", limit, " bytes"));
  }
  text_.append(chunk);
  if (told_ || text_.size() < kTelling) return absl::OkStatus();
  told_ = true;
  is_proto_ = proto_ != nullptr && IsProto(text_);
  if (!is_proto_) return absl::OkStatus();
  const std::string first = std::exchange(text_, {});
  return proto_->Feed(first);
}

absl::StatusOr<Json> ListReader::Finish() { return is_proto_ ? proto_->Finish() : FinishJson(); }

absl::StatusOr<Json> ListReader::FinishJson() {
  absl::StatusOr<Json> json = ParseJson(text_, text_.size());
  const std::string text = std::exchange(text_, {});
  if (!json.ok() || !json->is_object()) {
    return absl::DataLossError(absl::StrCat("not a JSON object: ", Quoted(text)));
  }
  const auto items = json->find("items");
  // An answer that is not a list must not count as an empty one: every object would seem deleted.
  if (items == json->end() || !(items->is_null() || items->is_array())) {
    return absl::DataLossError(absl::StrCat("not a list of items: ", Quoted(text)));
  }
  for (Json& item : *items) visit_(std::move(item));
  const auto meta = json->find("metadata");
  return meta == json->end() ? Json::object() : std::move(*meta);
}

}  // namespace muster::kube
