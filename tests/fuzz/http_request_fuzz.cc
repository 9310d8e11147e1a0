// Parses anything that a client may send to the operator's HTTP server, in any pieces: no crash, no
// dependence on the pieces, and no request accepted that exceeds its limits or has a content
// encoding.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "operator/web/gate.h"
#include "operator/web/http/http_message.h"
#include "operator/web/http/request_parser.h"

namespace muster::control {
namespace {

// Small limits, so that a short input reaches them.
constexpr RequestLimits kLimits = {.target = 64, .head = 256, .body = 64, .wire = 4096};

struct Got {
  size_t taken = 0;
  bool whole = false;
  bool refused = false;
  std::string path;
  std::string body;
  bool operator==(const Got&) const = default;
};

void Check(bool holds) {
  if (!holds) std::abort();
}

// Reads the requests of a connection one after the other, until one is refused or no input is left.
std::vector<Got> Read(std::string_view bytes, size_t piece) {
  RequestParser parser(kLimits);
  std::vector<Got> all(1);
  while (!bytes.empty()) {
    const size_t taken = parser.Feed(bytes.substr(0, piece));
    bytes.remove_prefix(taken);
    all.back().taken += taken;
    HttpRequest& request = parser.request();
    Check(request.body.size() <= kLimits.body && request.path.size() <= kLimits.target);
    if (parser.state() == RequestParser::State::kRefused) {
      Check(parser.refusal().status >= 400);
      all.back() = {.refused = true};
      return all;
    }
    if (parser.state() != RequestParser::State::kWhole) continue;
    Check(request.path.front() == '/' && !SegmentsOf(request.path).empty());
    Check(!TokenGate("a token that nobody can guess")(request).ok());
    all.back() = {all.back().taken, true, false, request.path, request.body};
    all.emplace_back();
    parser.Next();
  }
  all.back().taken = 0;  // the last request is not complete yet
  return all;
}

}  // namespace
}  // namespace muster::control

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const auto pieces = muster::control::Read(bytes, 1 + data[0] % 7);
  if (muster::control::Read(bytes, bytes.size() + 1) != pieces) std::abort();
  return 0;
}
