#include "operator/kube/rest/proto_stream.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "operator/kube/proto/proto_schema.h"

namespace muster::kube {
namespace {

constexpr size_t kFrameHead = 4;
constexpr size_t kMagicBytes = 4;

// Drops the bytes already handed out once they are most of the buffer, so that each byte is moved
// about once.
void Compact(std::string& buffer, size_t& begin) {
  if (begin == 0 || begin < buffer.size() / 2) return;
  buffer.erase(0, begin);
  begin = 0;
}

size_t FrameSize(std::string_view head) {
  size_t size = 0;
  for (size_t i = 0; i < kFrameHead; ++i) size = size << 8 | static_cast<uint8_t>(head[i]);
  return size;
}

absl::Status DamagedList(std::string_view why) {
  return absl::DataLossError(absl::StrCat("a damaged list: ", std::string(why)));
}

}  // namespace

absl::Status ProtoWatchDecoder::Feed(std::string_view chunk) {
  if (!failed_.ok()) return failed_;
  Compact(buffer_, begin_);
  buffer_.append(chunk);
  return failed_;
}

absl::StatusOr<std::optional<WatchEvent>> ProtoWatchDecoder::Next() {
  if (!failed_.ok()) return failed_;
  const std::string_view rest = std::string_view(buffer_).substr(begin_);
  if (rest.size() < kFrameHead) return std::optional<WatchEvent>();
  const size_t size = FrameSize(rest);
  if (size > max_bytes_) {
    return failed_ = absl::ResourceExhaustedError(
               absl::StrCat("a watch event is longer than ", max_bytes_, " bytes"));
  }
  if (rest.size() - kFrameHead < size) return std::optional<WatchEvent>();
  absl::StatusOr<WatchEvent> event = Decode(rest.substr(kFrameHead, size));
  begin_ += kFrameHead + size;
  ReleaseHandedOut(buffer_, begin_);
  if (!event.ok()) return failed_ = event.status();
  return std::optional<WatchEvent>(*std::move(event));
}

absl::StatusOr<WatchEvent> ProtoWatchDecoder::Decode(std::string_view frame) const {
  std::string_view word;
  std::string_view body;
  WireReader reader(frame);
  for (WireField field; reader.Next(field);) {
    if (!field.is_bytes) continue;
    if (field.number == 1) word = field.bytes;
    if (field.number != 2) continue;
    WireReader raw(field.bytes);
    for (WireField part; raw.Next(part);) {
      if (part.number == 1 && part.is_bytes) body = part.bytes;
    }
    if (!raw.ok()) return DamagedStream("an event without an object");
  }
  if (!reader.ok()) return DamagedStream("an event that is not a protobuf message");
  const absl::StatusOr<ProtoEnvelope> envelope = OpenEnvelope(body);
  if (!envelope.ok()) return DamagedStream("an event without an object");
  static const ProtoPlan* const status = ProtoPlan::Make(ProtoStatus()).release();
  absl::StatusOr<Json> object = (word == "ERROR" ? status : plan_.get())->Read(envelope->object);
  if (!object.ok()) return DamagedStream(std::string(object.status().message()));
  return MakeEvent(std::string(word), *std::move(object));
}

absl::Status ProtoWatchDecoder::Finish() const {
  if (!failed_.ok() || begin_ == buffer_.size()) return failed_;
  return DamagedStream("it ends inside an event");
}

ProtoListDecoder::ProtoListDecoder(std::unique_ptr<ProtoPlan> plan, Visit visit,
                                   size_t max_item_bytes)
    : plan_(std::move(plan)),
      meta_plan_(ProtoPlan::Make(ProtoListMeta())),
      visit_(std::move(visit)),
      max_bytes_(max_item_bytes) {}

absl::Status ProtoListDecoder::Feed(std::string_view chunk) {
  if (!failed_.ok()) return failed_;
  Compact(buffer_, begin_);
  buffer_.append(chunk);
  while (true) {
    const absl::StatusOr<bool> stepped = Step();
    if (!stepped.ok()) return failed_ = stepped.status();
    if (!*stepped) return absl::OkStatus();
  }
}

absl::StatusOr<bool> ProtoListDecoder::Step() {
  if (opened_) return inside_.has_value() ? StepList() : StepEnvelope();
  if (buffer_.size() < kMagicBytes) return false;
  if (!IsProto(buffer_)) return DamagedList("it is not protobuf");
  begin_ = kMagicBytes;
  return opened_ = true;
}

// Returns true if all of `field` is in the buffer; `got` tells whether its header could be read.
absl::StatusOr<bool> ProtoListDecoder::Whole(WireReader& reader, WireField& field, bool got) {
  if (!got && !reader.ok() && !reader.cut()) return DamagedList("it is not a protobuf message");
  if (!got || !field.is_bytes) return got;
  if (field.integer > max_bytes_) {
    return absl::ResourceExhaustedError(
        absl::StrCat("an item of the list is longer than ", max_bytes_, " bytes"));
  }
  return reader.Take(field.integer, field.bytes);
}

// Consumes a field of the envelope: the list's type, its bytes, or their encoding.
absl::StatusOr<bool> ProtoListDecoder::StepEnvelope() {
  WireReader reader(std::string_view(buffer_).substr(begin_));
  WireField field;
  const bool got = reader.NextHeader(field);
  if (got && field.is_bytes && field.number == 2) {
    if (listed_) return DamagedList("the answer has two lists");
    if (!kind_.ends_with("List")) return DamagedList(absl::StrCat("it is a \"", kind_, "\""));
    listed_ = true;
    inside_ = field.integer;
    begin_ += reader.position();
    if (*inside_ == 0) inside_.reset();
    return true;
  }
  MUSTER_ASSIGN_OR_RETURN(const bool whole, Whole(reader, field, got));
  if (!whole) return false;
  begin_ += reader.position();
  if (!field.is_bytes || field.number != 1) return true;
  WireReader type(field.bytes);
  for (WireField part; type.Next(part);) {
    if (part.number == 2 && part.is_bytes) kind_ = std::string(part.bytes);
  }
  return true;
}

absl::StatusOr<bool> ProtoListDecoder::StepList() {
  const std::string_view rest = std::string_view(buffer_).substr(begin_, *inside_);
  WireReader reader(rest);
  WireField field;
  const bool got = reader.NextHeader(field);
  MUSTER_ASSIGN_OR_RETURN(const bool whole, Whole(reader, field, got));
  if (!whole) {
    // The whole list has arrived, but it ends inside a field.
    if (rest.size() == *inside_) return DamagedList("it ends inside an item");
    return false;
  }
  if (field.is_bytes && field.number == 1) {
    MUSTER_ASSIGN_OR_RETURN(meta_, meta_plan_->Read(field.bytes));
  } else if (field.is_bytes && field.number == 2) {
    MUSTER_ASSIGN_OR_RETURN(Json item, plan_->Read(field.bytes));
    visit_(std::move(item));
  }
  begin_ += reader.position();
  *inside_ -= reader.position();
  if (*inside_ == 0) inside_.reset();
  return true;
}

absl::StatusOr<Json> ProtoListDecoder::Finish() {
  if (!failed_.ok()) return failed_;
  if (!listed_ || inside_.has_value() || begin_ != buffer_.size()) {
    return failed_ = DamagedList("it ends too early");
  }
  return meta_;
}

}  // namespace muster::kube
