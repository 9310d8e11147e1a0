#ifndef MUSTER_OPERATOR_KUBE_HTTP_GUNZIP_H_
#define MUSTER_OPERATOR_KUBE_HTTP_GUNZIP_H_

#include <zlib.h>

#include <string_view>

#include "absl/functional/function_ref.h"

namespace muster::kube {

// Decodes one gzip stream, in whatever pieces it arrives, holding a few kilobytes of it: how much
// may come out is for the taker to say. Not thread-safe.
class Gunzip {
 public:
  Gunzip();
  ~Gunzip();
  Gunzip(const Gunzip&) = delete;
  Gunzip& operator=(const Gunzip&) = delete;

  // `take` is given what could be decoded; it says no to end the decoding. False then, and when
  // `bytes` are no gzip stream or go on after its end.
  bool Feed(std::string_view bytes, absl::FunctionRef<bool(std::string_view)> take);
  // The stream came to its end, and its checksum is right.
  bool ended() const { return ended_; }

 private:
  z_stream stream_{};
  bool usable_ = false;
  bool ended_ = false;
};

}  // namespace muster::kube

#endif  // MUSTER_OPERATOR_KUBE_HTTP_GUNZIP_H_
