#include "operator/kube/http/gunzip.h"

#include <array>
#include <cstddef>

namespace muster::kube {
namespace {

constexpr size_t kPiece = 16 << 10;
// zlib's largest window, plus 16 for gzip's header in place of zlib's.
constexpr int kGzipWindow = 15 + 16;

}  // namespace

Gunzip::Gunzip() { usable_ = inflateInit2(&stream_, kGzipWindow) == Z_OK; }

Gunzip::~Gunzip() { inflateEnd(&stream_); }

bool Gunzip::Feed(std::string_view bytes, absl::FunctionRef<bool(std::string_view)> take) {
  std::array<char, kPiece> out;
  stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream_.avail_in = static_cast<uInt>(bytes.size());
  bool full = true;  // zlib may hold more output
  while (usable_ && (stream_.avail_in > 0 || full)) {
    if (ended_) return stream_.avail_in == 0;
    stream_.next_out = reinterpret_cast<Bytef*>(out.data());
    stream_.avail_out = static_cast<uInt>(out.size());
    const int result = inflate(&stream_, Z_NO_FLUSH);
    ended_ = result == Z_STREAM_END;
    // Z_BUF_ERROR means that there was nothing left to do.
    usable_ = ended_ || result == Z_OK || result == Z_BUF_ERROR;
    const size_t size = out.size() - stream_.avail_out;
    full = stream_.avail_out == 0;
    if (size > 0 && !take({out.data(), size})) return false;
    if (result == Z_BUF_ERROR) break;
  }
  return usable_;
}

}  // namespace muster::kube
