#include "operator/web/http/request_parser.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace muster::control {
namespace {

// The parser looks no further ahead than this before a limit is checked.
constexpr size_t kPiece = 4 << 10;

bool IsControl(char c) { return c != '\t' && absl::ascii_iscntrl(static_cast<unsigned char>(c)); }

}  // namespace

RequestParser::RequestParser(const RequestLimits& limits) : limits_(limits) { Next(); }

void RequestParser::Next() {
  http_parser_init(&parser_, HTTP_REQUEST);
  parser_.data = this;
  state_ = State::kHead;
  request_ = {};
  refusal_ = {};
  target_.clear();
  name_.clear();
  content_encoding_.clear();
  expect_.clear();
  head_ = wire_ = 0;
  in_value_ = continue_ = false;
}

bool RequestParser::TakeContinue() { return std::exchange(continue_, false); }

size_t RequestParser::Feed(std::string_view bytes) {
  size_t taken = 0;
  while (taken < bytes.size() && (state_ == State::kHead || state_ == State::kBody)) {
    const std::string_view piece = bytes.substr(taken, kPiece);
    const size_t now = http_parser_execute(&parser_, &Calls(), piece.data(), piece.size());
    taken += now;
    wire_ += now;
    if (state_ == State::kWhole || state_ == State::kRefused) break;
    if (HTTP_PARSER_ERRNO(&parser_) != HPE_OK || now < piece.size()) {
      Refuse(400, absl::StrCat("the request is malformed: ",
                               http_errno_description(HTTP_PARSER_ERRNO(&parser_))));
    } else if (wire_ > limits_.wire) {
      Refuse(413, absl::StrCat("the request has more than ", limits_.wire, " bytes"));
    }
  }
  return taken;
}

RequestParser& RequestParser::Of(http_parser* parser) {
  return *static_cast<RequestParser*>(parser->data);
}

// A callback that returns non-zero ends the parsing.
const http_parser_settings& RequestParser::Calls() {
  static const http_parser_settings calls = [] {
    http_parser_settings made;
    http_parser_settings_init(&made);
    made.on_url = [](http_parser* parser, const char* text, size_t size) {
      return Of(parser).Target({text, size});
    };
    made.on_header_field = [](http_parser* parser, const char* text, size_t size) {
      return Of(parser).Name({text, size});
    };
    made.on_header_value = [](http_parser* parser, const char* text, size_t size) {
      return Of(parser).Value({text, size});
    };
    made.on_headers_complete = [](http_parser* parser) { return Of(parser).EndHead(); };
    made.on_body = [](http_parser* parser, const char* data, size_t size) {
      return Of(parser).Body({data, size});
    };
    made.on_message_complete = [](http_parser* parser) { return Of(parser).End(); };
    return made;
  }();
  return calls;
}

int RequestParser::Refuse(int status, absl::string_view why) {
  state_ = State::kRefused;
  refusal_ = ErrorResponse(status, why);
  if (status == 405) refusal_.headers = {{"Allow", "GET, HEAD, POST"}};
  if (status == 415) refusal_.headers = {{"Accept-Encoding", "identity"}};
  return -1;
}

int RequestParser::Grow(size_t bytes) {
  head_ += bytes;
  if (head_ <= limits_.head) return 0;
  return Refuse(431, absl::StrCat("the headers have more than ", limits_.head, " bytes"));
}

int RequestParser::Target(std::string_view piece) {
  if (target_.size() + piece.size() > limits_.target) {
    return Refuse(414, absl::StrCat("the path has more than ", limits_.target, " bytes"));
  }
  target_.append(piece);
  return 0;
}

// Names and values may arrive in pieces.
int RequestParser::Name(std::string_view piece) {
  if (in_value_ || name_.empty()) {
    name_.clear();
    if (Grow(4) != 0) return -1;
  }
  in_value_ = false;
  name_.append(piece);
  return Grow(piece.size());
}

std::string* RequestParser::WantedHeader() {
  const std::pair<absl::string_view, std::string*> wanted[] = {
      {"Host", &request_.host},
      {"Origin", &request_.origin},
      {"Accept", &request_.accept},
      {"Authorization", &request_.authorization},
      {"Content-Encoding", &content_encoding_},
      {"Expect", &expect_}};
  for (const auto& [name, to] : wanted) {
    if (absl::EqualsIgnoreCase(name_, name)) return to;
  }
  return nullptr;
}

int RequestParser::Value(std::string_view piece) {
  const bool first = !in_value_;
  in_value_ = true;
  // The parser rejects control characters only at the start of a piece.
  if (std::any_of(piece.begin(), piece.end(), IsControl)) {
    return Refuse(400, "the request is malformed: a control character in a header");
  }
  if (Grow(piece.size()) != 0) return -1;
  std::string* const to = state_ == State::kHead ? WantedHeader() : nullptr;
  if (to == nullptr) return 0;
  if (first && !to->empty()) {
    // Repeated headers are joined as a list, as for Accept and the encodings. The target host and
    // the caller's identity have one value each.
    if (to == &request_.host || to == &request_.authorization || to == &request_.origin) {
      return Refuse(400, absl::StrCat("the request is malformed: two headers ", name_));
    }
    to->append(", ");
  }
  to->append(piece);
  return 0;
}

int RequestParser::EndHead() {
  for (std::string* text : {&request_.host, &request_.origin, &request_.accept,
                            &request_.authorization, &content_encoding_, &expect_}) {
    absl::StripAsciiWhitespace(text);
  }
  request_.method = http_method_str(static_cast<http_method>(parser_.method));
  if (parser_.http_major != 1) return Refuse(400, "the request is malformed: not HTTP/1");
  if (request_.method != "GET" && request_.method != "HEAD" && request_.method != "POST") {
    return Refuse(405, absl::StrCat("the method ", request_.method, " is not supported"));
  }
  if (parser_.upgrade != 0) return Refuse(400, "the request is malformed: upgrades are refused");
  if (!ReadTarget(target_, request_)) {
    return Refuse(400, "the request is malformed: its path is not valid");
  }
  if (!content_encoding_.empty() && !absl::EqualsIgnoreCase(content_encoding_, "identity")) {
    return Refuse(415, "a body must not have a Content-Encoding other than identity");
  }
  const bool chunked = (parser_.flags & F_CHUNKED) != 0;
  if (parser_.uses_transfer_encoding != 0 && !chunked) {
    return Refuse(400, "the request is malformed: a Transfer-Encoding that is not chunked");
  }
  const bool sized = parser_.content_length != std::numeric_limits<uint64_t>::max();
  if (sized && parser_.content_length > limits_.body) {
    return Refuse(413, absl::StrCat("the body has more than ", limits_.body, " bytes"));
  }
  const bool has_body = chunked || (sized && parser_.content_length > 0);
  continue_ = has_body && absl::EqualsIgnoreCase(expect_, "100-continue");
  state_ = State::kBody;
  return 0;
}

int RequestParser::Body(std::string_view piece) {
  if (request_.body.size() + piece.size() > limits_.body) {
    return Refuse(413, absl::StrCat("the body has more than ", limits_.body, " bytes"));
  }
  request_.body.append(piece);
  return 0;
}

int RequestParser::End() {
  request_.keep_alive = http_should_keep_alive(&parser_) != 0;
  state_ = State::kWhole;
  continue_ = false;
  http_parser_pause(&parser_, 1);
  return 0;
}

}  // namespace muster::control
