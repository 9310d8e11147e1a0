#ifndef MUSTER_OPERATOR_KUBE_HTTP_GUNZIP_H_
#define MUSTER_OPERATOR_KUBE_HTTP_GUNZIP_H_

#include <zlib.h>

#include <string_view>

#include "absl/functional/function_ref.h"

namespace muster::kube {

// Decodes one gzip stream that arrives in pieces of any size, holding a few kilobytes of it. The
// caller must bound the size of the output. Not thread-safe.
class Gunzip {
 public:
  Gunzip();
  ~Gunzip();
  Gunzip(const Gunzip&) = delete;
  Gunzip& operator=(const Gunzip&) = delete;

  // Passes decoded bytes to `take`, which returns false to end the decoding. Returns false then,
  // and if `bytes` are not a gzip stream or go on after its end.
  bool Feed(std::string_view bytes, absl::FunctionRef<bool(std::string_view)> take);
  // Returns true if the stream has ended with a correct checksum.
  bool ended() const { return ended_; }

 private:
  z_stream stream_{};
  bool usable_ = false;
  bool ended_ = false;
};

}  // namespace muster::kube

#endif  // MUSTER_OPERATOR_KUBE_HTTP_GUNZIP_H_
