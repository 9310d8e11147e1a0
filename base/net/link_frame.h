#ifndef MUSTER_BASE_NET_LINK_FRAME_H_
#define MUSTER_BASE_NET_LINK_FRAME_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "google/protobuf/message_lite.h"

// The frames of the socket pair between an agent and a trainer process: a 4-byte little-endian
// length, then that many bytes, one protobuf message. Both ends use this code.
//
//   std::string out;
//   MUSTER_RETURN_IF_ERROR(AppendLinkFrame(message, &out));
//   ...
//   decoder.Append(bytes_from_read);
//   while (true) {
//     MUSTER_ASSIGN_OR_RETURN(std::optional<std::string> frame, decoder.Next());
//     if (!frame) break;  // more bytes are needed
//     ...ParseFromString(*frame)
//   }

namespace muster {

inline constexpr size_t kLinkFrameHeaderBytes = 4;
inline constexpr size_t kMaxLinkFrameBytes = size_t{16} << 20;

// Appends `message` as one frame; ResourceExhausted, with `out` unchanged, if it is larger than
// kMaxLinkFrameBytes.
absl::Status AppendLinkFrame(const google::protobuf::MessageLite& message, std::string* out);
absl::Status AppendLinkFrame(std::string_view payload, std::string* out);

// Sends `message` as one whole frame over a blocking socket. Unavailable if the peer is gone; never
// raises SIGPIPE. Calls must not overlap.
absl::Status SendLinkFrame(int fd, const google::protobuf::MessageLite& message);

// Splits a byte stream, which may arrive in any pieces, into frames. An error means that the
// framing is lost: every later call returns the same error. Not thread-safe.
class LinkFrameDecoder {
 public:
  void Append(std::string_view bytes);

  // Returns the payload of the next whole frame; nullopt if more bytes are needed; InvalidArgument
  // if the length exceeds kMaxLinkFrameBytes.
  absl::StatusOr<std::optional<std::string>> Next();

  // Call it at the end of the stream: DataLoss if the stream ended inside a frame.
  absl::Status AtEnd() const;

 private:
  std::string buffer_;
  size_t begin_ = 0;  // start of the bytes not yet taken
  absl::Status error_;
};

}  // namespace muster

#endif  // MUSTER_BASE_NET_LINK_FRAME_H_
