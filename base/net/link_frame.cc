#include "base/net/link_frame.h"

#include <sys/socket.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace muster {
namespace {

uint32_t DecodeLength(const char* bytes) {
  uint32_t length = 0;
  for (int i = 3; i >= 0; --i) length = length << 8 | static_cast<unsigned char>(bytes[i]);
  return length;
}

void AppendLength(size_t length, std::string* out) {
  for (int i = 0; i < 4; ++i) out->push_back(static_cast<char>(length >> (8 * i) & 0xff));
}

absl::Status CheckSize(size_t bytes) {
  if (bytes <= kMaxLinkFrameBytes) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("link frame of ", bytes, " bytes is larger than ", kMaxLinkFrameBytes));
}

}  // namespace

absl::Status AppendLinkFrame(std::string_view payload, std::string* out) {
  MUSTER_RETURN_IF_ERROR(CheckSize(payload.size()));
  AppendLength(payload.size(), out);
  out->append(payload);
  return absl::OkStatus();
}

absl::Status AppendLinkFrame(const google::protobuf::MessageLite& message, std::string* out) {
  const size_t bytes = message.ByteSizeLong();
  MUSTER_RETURN_IF_ERROR(CheckSize(bytes));
  AppendLength(bytes, out);
  message.AppendToString(out);
  return absl::OkStatus();
}

absl::Status SendLinkFrame(int fd, const google::protobuf::MessageLite& message) {
  std::string frame;
  MUSTER_RETURN_IF_ERROR(AppendLinkFrame(message, &frame));
  for (size_t sent = 0; sent < frame.size();) {
    const ssize_t n = send(fd, frame.data() + sent, frame.size() - sent, MSG_NOSIGNAL);
    if (n > 0) {
      sent += static_cast<size_t>(n);
    } else if (errno != EINTR) {
      return absl::UnavailableError(absl::StrCat("link send: ", std::strerror(errno)));
    }
  }
  return absl::OkStatus();
}

void LinkFrameDecoder::Append(std::string_view bytes) {
  if (!error_.ok()) return;
  buffer_.erase(0, begin_);
  begin_ = 0;
  buffer_.append(bytes);
}

absl::StatusOr<std::optional<std::string>> LinkFrameDecoder::Next() {
  if (!error_.ok()) return error_;
  const size_t available = buffer_.size() - begin_;
  if (available < kLinkFrameHeaderBytes) return std::nullopt;
  const size_t length = DecodeLength(buffer_.data() + begin_);
  if (length > kMaxLinkFrameBytes) {
    error_ = absl::InvalidArgumentError(absl::StrCat(
        "link frame announces ", length, " bytes; at most ", kMaxLinkFrameBytes, " are allowed"));
    buffer_.clear();
    begin_ = 0;
    return error_;
  }
  if (available < kLinkFrameHeaderBytes + length) return std::nullopt;
  std::string frame = buffer_.substr(begin_ + kLinkFrameHeaderBytes, length);
  begin_ += kLinkFrameHeaderBytes + length;
  return frame;
}

absl::Status LinkFrameDecoder::AtEnd() const {
  if (!error_.ok()) return error_;
  const size_t left = buffer_.size() - begin_;
  if (left == 0) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat("link ended inside a frame, after ", left, " bytes"));
}

}  // namespace muster
