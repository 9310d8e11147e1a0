#ifndef MUSTER_OPERATOR_KUBE_HTTP_GZIP_TEXT_H_
#define MUSTER_OPERATOR_KUBE_HTTP_GZIP_TEXT_H_

#include <zlib.h>

#include <string>
#include <string_view>

#include "gtest/gtest.h"

namespace muster::kube {

// Returns `text` as one gzip stream, for tests.
inline std::string Gzip(std::string_view text) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY),
            Z_OK);
  std::string out(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(out.size() - stream.avail_out);
  deflateEnd(&stream);
  return out;
}

}  // namespace muster::kube

#endif  // MUSTER_OPERATOR_KUBE_HTTP_GZIP_TEXT_H_
