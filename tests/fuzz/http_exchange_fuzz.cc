// Parses an API server's answer from any bytes in any pieces: it must neither crash nor depend on
// the pieces.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "operator/kube/http/http_exchange.h"
#include "operator/kube/http/scripted_stream.h"

namespace muster::kube {
namespace {

struct Got {
  bool whole;
  int code;
  std::string retry_after;
  std::string body;
  bool operator==(const Got&) const = default;
};

Got Read(const std::string& bytes, size_t piece) {
  ScriptedStream stream(bytes, piece);
  std::string body;
  HttpAnswer answer;
  answer.receive = [&](std::string_view data) {
    body.append(data);
    return true;
  };
  const bool whole = Exchange(stream, {"GET / HTTP/1.1\r\n\r\n", ""}, answer);
  return {whole, answer.code, answer.retry_after, body};
}

}  // namespace
}  // namespace muster::kube

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const muster::kube::Got pieces = muster::kube::Read(bytes, 1 + data[0] % 7);
  if (muster::kube::Read(bytes, bytes.size() + 1) != pieces) std::abort();
  if (pieces.whole && pieces.code < 200) std::abort();
  return 0;
}
