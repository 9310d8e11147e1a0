#include "operator/web/gate.h"

#include <openssl/crypto.h>
#include <openssl/rand.h>

#include <cstdlib>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "operator/web/http/listener.h"

namespace muster::control {
namespace {

constexpr char kBearer[] = "Bearer ";

// Accepts "localhost:8080" and similar names, with or without a port.
bool NamesThisMachine(const std::string& host) {
  const size_t colon = host.rfind(':');
  const bool has_port = colon != std::string::npos && !absl::EndsWith(host, "]");
  const auto parsed = ParseTcpAddress(has_port ? host : host + ":0");
  return parsed.ok() && IsLoopback(parsed->host);
}

// Compares in constant time, so that the time does not reveal how much matches.
bool Same(const std::string& a, const std::string& b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace

std::string BearerToken(const HttpRequest& request) {
  const std::string& text = request.authorization;
  if (!absl::StartsWithIgnoreCase(text, kBearer)) return "";
  return std::string(absl::StripAsciiWhitespace(text.substr(sizeof(kBearer) - 1)));
}

std::string NewToken() {
  std::string bytes(32, '\0');
  // There must be no server without randomness.
  if (RAND_bytes(reinterpret_cast<unsigned char*>(bytes.data()), static_cast<int>(bytes.size())) !=
      1) {
    std::abort();
  }
  return absl::BytesToHexString(bytes);
}

Gate TokenGate(std::string token) {
  return [token = std::move(token)](const HttpRequest& request) -> absl::Status {
    if (!NamesThisMachine(request.host)) {
      return absl::PermissionDeniedError(
          absl::StrCat("the Host '", absl::CHexEscape(request.host), "' is not this machine"));
    }
    if (!request.origin.empty() && request.origin != "http://" + request.host) {
      return absl::PermissionDeniedError("the request comes from another site");
    }
    const std::string given = BearerToken(request);
    if (given.empty()) {
      return absl::UnauthenticatedError("send the token: Authorization: Bearer TOKEN");
    }
    if (Same(given, token)) return absl::OkStatus();
    return absl::UnauthenticatedError("the token is not this operator's");
  };
}

}  // namespace muster::control
