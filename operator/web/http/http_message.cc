#include "operator/web/http/http_message.h"

#include <cstddef>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/json.h"

namespace muster::control {
namespace {

int HexValue(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char lower = absl::ascii_tolower(static_cast<unsigned char>(c));
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

bool Decode(std::string_view text, bool plus_is_space, std::string& decoded) {
  decoded.clear();
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '%') {
      if (i + 2 >= text.size()) return false;
      const int high = HexValue(text[i + 1]), low = HexValue(text[i + 2]);
      if (high < 0 || low < 0) return false;
      c = static_cast<char>(high * 16 + low);
      i += 2;
    } else if (c == '+' && plus_is_space) {
      c = ' ';
    }
    if (absl::ascii_iscntrl(static_cast<unsigned char>(c))) return false;
    decoded.push_back(c);
  }
  return true;
}

const char* PhraseOf(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 409:
      return "Conflict";
    case 413:
      return "Payload Too Large";
    case 414:
      return "URI Too Long";
    case 415:
      return "Unsupported Media Type";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 503:
      return "Service Unavailable";
    default:
      return status < 500 ? "Refused" : "Failed";
  }
}

}  // namespace

std::string HttpRequest::Parameter(const std::string& name) const {
  const auto found = parameters.find(name);
  return found == parameters.end() ? "" : found->second;
}

HttpResponse ErrorResponse(int status, absl::string_view message) {
  HttpResponse response;
  response.status = status;
  response.body = DumpJson({{"error", std::string(message)}, {"code", status}}) + "\n";
  return response;
}

std::string EncodeResponse(const HttpResponse& response, bool keep_alive, bool head_only) {
  std::string bytes = absl::StrCat(
      "HTTP/1.1 ", response.status, " ", PhraseOf(response.status),
      "\r\nContent-Type: ", response.content_type, "\r\nContent-Length: ", response.body.size(),
      "\r\nConnection: ", keep_alive ? "keep-alive" : "close",
      "\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n");
  for (const auto& [name, value] : response.headers) {
    absl::StrAppend(&bytes, name, ": ", value, "\r\n");
  }
  absl::StrAppend(&bytes, "\r\n", head_only ? "" : response.body);
  return bytes;
}

bool ReadTarget(std::string_view target, HttpRequest& request) {
  if (target.empty() || target.front() != '/') return false;
  target = target.substr(0, target.find('#'));
  const size_t question = target.find('?');
  if (!Decode(target.substr(0, question), /*plus_is_space=*/false, request.path)) return false;
  if (question == std::string_view::npos) return true;
  const std::string query(target.substr(question + 1));
  for (const absl::string_view pair : absl::StrSplit(query, '&', absl::SkipEmpty())) {
    const std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(pair, absl::MaxSplits('=', 1));
    std::string name, value;
    if (!Decode({parts.first.data(), parts.first.size()}, true, name) ||
        !Decode({parts.second.data(), parts.second.size()}, true, value)) {
      return false;
    }
    request.parameters.emplace(std::move(name), std::move(value));
  }
  return true;
}

std::vector<std::string> SegmentsOf(const std::string& path) {
  return absl::StrSplit(absl::string_view(path).substr(1), '/');
}

}  // namespace muster::control
