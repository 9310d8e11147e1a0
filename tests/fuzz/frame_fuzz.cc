// Decodes frames of the link between agent and trainer from any bytes in any chunks: the decoder
// must neither crash nor depend on the chunks, and parsing an accepted frame must not crash.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "base/net/link_frame.h"
#include "proto/muster/v1alpha1/trainer_link.pb.h"

namespace {

struct Decoded {
  std::vector<std::string> frames;
  absl::Status end;
};

Decoded Decode(std::string_view bytes, size_t chunk) {
  Decoded result;
  muster::LinkFrameDecoder decoder;
  for (size_t at = 0; at < bytes.size(); at += chunk) {
    decoder.Append(bytes.substr(at, chunk));
    while (true) {
      absl::StatusOr<std::optional<std::string>> frame = decoder.Next();
      if (!frame.ok() || !frame->has_value()) break;
      result.frames.push_back(**frame);
    }
  }
  result.end = decoder.AtEnd();
  return result;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const Decoded whole = Decode(bytes, bytes.size() + 1);
  const Decoded pieces = Decode(bytes, 1 + data[0] % 7);
  if (whole.frames != pieces.frames || whole.end.code() != pieces.end.code()) std::abort();
  std::string again;
  for (const std::string& frame : whole.frames) {
    if (!muster::AppendLinkFrame(std::string_view(frame), &again).ok()) std::abort();
    muster::v1alpha1::FromTrainer from;
    muster::v1alpha1::ToTrainer to;
    from.ParseFromString(frame);
    to.ParseFromString(frame);
  }
  if (bytes.substr(0, again.size()) != again) std::abort();
  return 0;
}
