#include "operator/kube/http/proxy.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/host_port.h"
#include "base/status_macros.h"
#include "operator/kube/http/dialer.h"

namespace muster::kube {
namespace {

constexpr std::string_view kScheme = "http://";
constexpr size_t kMaxHead = 16 << 10;

// An address of either family; IPv4 is mapped into IPv6.
using Address = std::array<uint8_t, 16>;

std::optional<Address> ParseAddress(const std::string& text) {
  Address address{};
  if (inet_pton(AF_INET6, text.c_str(), address.data()) == 1) return address;
  address[10] = address[11] = 0xff;
  if (inet_pton(AF_INET, text.c_str(), address.data() + 12) == 1) return address;
  return std::nullopt;
}

bool IsInRange(const Address& address, const Address& base, int bits) {
  for (int bit = 0; bit < bits; ++bit) {
    const auto mask = static_cast<uint8_t>(0x80 >> (bit % 8));
    if (((address[bit / 8] ^ base[bit / 8]) & mask) != 0) return false;
  }
  return true;
}

bool IsOfThisMachine(const std::string& host, const std::optional<Address>& address) {
  if (host == "localhost") return true;
  if (!address.has_value()) return false;
  static const Address v4 = *ParseAddress("127.0.0.0");
  static const Address v6 = *ParseAddress("::1");
  return IsInRange(*address, v4, 96 + 8) || *address == v6;
}

// Parses "10.0.0.0/8". Returns nothing if it is not a range.
std::optional<std::pair<Address, int>> ParseRange(const std::string& text) {
  const size_t slash = text.find('/');
  if (slash == text.npos) return std::nullopt;
  const std::string base = text.substr(0, slash);
  const std::optional<Address> address = ParseAddress(base);
  int bits = 0;
  if (!address.has_value() || !absl::SimpleAtoi(text.substr(slash + 1), &bits)) return std::nullopt;
  const bool v4 = base.find(':') == base.npos;
  if (bits < 0 || bits > (v4 ? 32 : 128)) return std::nullopt;
  return std::pair(*address, v4 ? 96 + bits : bits);
}

// Parses "name:port", "[address]:port", or either without a port, which is then 0.
std::pair<std::string, int> SplitPort(const std::string& text) {
  const size_t colon = text.rfind(':');
  int port = 0;
  const bool bracketed = absl::StartsWith(text, "[");
  const bool has_port = colon != text.npos &&
                        (bracketed ? text[colon - 1] == ']' : text.find(':') == colon) &&
                        absl::SimpleAtoi(text.substr(colon + 1), &port);
  std::string host = has_port ? text.substr(0, colon) : text;
  if (bracketed && host.back() == ']') host = host.substr(1, host.size() - 2);
  return {host, port};
}

// Returns true if an entry of NO_PROXY matches this server.
bool Names(const std::string& entry, const std::string& host, const std::optional<Address>& address,
           int server_port) {
  if (entry == "*") return true;
  if (const auto range = ParseRange(entry); range.has_value()) {
    return address.has_value() && IsInRange(*address, range->first, range->second);
  }
  auto [name, port] = SplitPort(entry);
  if (port != 0 && port != server_port) return false;
  if (const auto one = ParseAddress(name); one.has_value()) return address == one;
  if (absl::StartsWith(name, "*.")) name = name.substr(1);
  if (name.empty()) return false;
  if (name[0] == '.') return absl::EndsWith(host, name);
  return host == name || absl::EndsWith(host, "." + name);
}

// Decodes percent-encoding: "%40" is an @.
std::string Unescape(std::string_view text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    const std::string_view digits = text.substr(i + 1, 2);  // i is below its size
    int byte = 0;
    if (text[i] == '%' && digits.size() == 2 && absl::SimpleHexAtoi(std::string(digits), &byte)) {
      plain.push_back(static_cast<char>(byte));
      i += 2;
    } else {
      plain.push_back(text[i]);
    }
  }
  return plain;
}

absl::Status SendAll(int socket, std::string_view text, absl::Time deadline) {
  while (!text.empty()) {
    if (!WaitForSocket(socket, POLLOUT, deadline)) {
      return absl::DeadlineExceededError("did not answer in time");
    }
    const ssize_t sent = send(socket, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0) return absl::UnavailableError("closed the connection");
    text.remove_prefix(static_cast<size_t>(sent));
  }
  return absl::OkStatus();
}

// Returns the answer's head and any bytes that arrived with it.
absl::StatusOr<std::string> ReadHead(int socket, absl::Time deadline) {
  std::string head;
  std::array<char, 4096> buffer;
  while (!absl::StrContains(head, "\r\n\r\n")) {
    if (!WaitForSocket(socket, POLLIN, deadline)) {
      return absl::DeadlineExceededError("did not answer in time");
    }
    const ssize_t got = recv(socket, buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (got <= 0) return absl::UnavailableError("closed the connection");
    head.append(buffer.data(), static_cast<size_t>(got));
    if (head.size() > kMaxHead) return absl::UnavailableError("sent an answer that is not HTTP");
  }
  return head;
}

absl::Status Connect(int socket, const ProxyServer& proxy, const ServerUrl& server,
                     absl::Time deadline) {
  const std::string to = HostAndPort(server.host, server.port);
  std::string request = absl::StrCat("CONNECT ", to, " HTTP/1.1\r\nHost: ", to, "\r\n");
  if (!proxy.authorization.empty()) {
    absl::StrAppend(&request, "Proxy-Authorization: ", proxy.authorization, "\r\n");
  }
  MUSTER_RETURN_IF_ERROR(SendAll(socket, request + "\r\n", deadline));
  MUSTER_ASSIGN_OR_RETURN(const std::string head, ReadHead(socket, deadline));
  int code = 0;
  if (!absl::StartsWith(head, "HTTP/1.") || head.size() < 12 ||
      !absl::SimpleAtoi(head.substr(9, 3), &code)) {
    return absl::UnavailableError("sent an answer that is not HTTP");
  }
  if (code < 200 || code >= 300) {
    return absl::UnavailableError(absl::StrCat("refused to connect to it: ", code));
  }
  // A TLS server does not send first.
  if (!absl::EndsWith(head, "\r\n\r\n")) {
    return absl::UnavailableError("sent data before the TLS handshake");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ProxyServer> ParseProxyUrl(std::string_view url) {
  const auto bad = [](std::string_view why) {
    return absl::InvalidArgumentError(
        absl::StrCat("a proxy ", std::string(why), "; want http://[user:password@]host:port"));
  };
  if (url.substr(0, kScheme.size()) != kScheme) return bad("URL must start with http://");
  std::string rest(url.substr(kScheme.size()));
  ProxyServer proxy;
  if (const size_t at = rest.rfind('@'); at != rest.npos) {
    proxy.authorization = absl::StrCat("Basic ", absl::Base64Escape(Unescape(rest.substr(0, at))));
    rest = rest.substr(at + 1);
  }
  const absl::StatusOr<ServerUrl> server = ParseServerUrl(absl::StrCat("https://", rest));
  if (!server.ok() || !server->prefix.empty()) return bad("URL must have only a host and a port");
  proxy.host = server->host;
  proxy.port = SplitPort(rest.substr(0, rest.find('/'))).second;
  if (proxy.port == 0) proxy.port = 80;
  return proxy;
}

std::string ProxyFromEnvironment(
    const ServerUrl& server, const std::function<std::string(const std::string&)>& environment) {
  const auto either = [&](const char* upper, const char* lower) {
    const std::string value = environment(upper);
    return value.empty() ? environment(lower) : value;
  };
  const std::string proxy = either("HTTPS_PROXY", "https_proxy");
  if (proxy.empty()) return "";
  const std::string host = absl::AsciiStrToLower(server.host);
  const std::optional<Address> address = ParseAddress(host);
  if (IsOfThisMachine(host, address)) return "";
  const std::string exempt = absl::AsciiStrToLower(either("NO_PROXY", "no_proxy"));
  for (absl::string_view entry : absl::StrSplit(exempt, ',')) {
    entry = absl::StripAsciiWhitespace(entry);
    if (!entry.empty() && Names(std::string(entry), host, address, server.port)) return "";
  }
  return absl::StrContains(proxy, "://") ? proxy : std::string(kScheme) + proxy;
}

absl::Status OpenTunnel(int socket, const ProxyServer& proxy, const ServerUrl& server,
                        absl::Time deadline) {
  const absl::Status opened = Connect(socket, proxy, server, deadline);
  if (opened.ok()) return opened;
  return absl::Status(opened.code(), absl::StrCat("the proxy ", proxy.host, ":", proxy.port, " ",
                                                  opened.message()));
}

}  // namespace muster::kube
