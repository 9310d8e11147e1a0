#ifndef MUSTER_OPERATOR_WEB_HTTP_REQUEST_PARSER_H_
#define MUSTER_OPERATOR_WEB_HTTP_REQUEST_PARSER_H_

#include <http_parser.h>

#include <cstddef>
#include <string>
#include <string_view>

#include "operator/web/http/http_message.h"

namespace muster::control {

// Bytes of one request.
struct RequestLimits {
  size_t target = size_t{8} << 10;
  size_t head = size_t{16} << 10;   // all header lines, those of a chunked body's end too
  size_t body = size_t{64} << 10;   // decoded: of a chunked body what its chunks hold
  size_t wire = size_t{256} << 10;  // all of it as it came
};

// One HTTP/1 request after another from bytes in any pieces. What a request may not be is refused
// where that is first seen, before any more of it is taken: a body in an encoding (415, so nothing
// is ever inflated), a body, head or target above its limit (413, 431, 414), other methods (405),
// other transfer encodings, upgrades and what is no HTTP (400). Ranges are not kept: an answer is
// always whole. Of what it holds, no part grows beyond its limit. Pure; one thread.
class RequestParser {
 public:
  enum class State {
    kHead,     // nothing, or a part of the head
    kBody,     // the head is whole and allowed
    kWhole,    // request() can be had; nothing is taken before Next()
    kRefused,  // refusal() says how; nothing is taken any more
  };

  explicit RequestParser(const RequestLimits& limits);
  RequestParser(const RequestParser&) = delete;
  RequestParser& operator=(const RequestParser&) = delete;

  // Takes bytes of one request at most; how many.
  size_t Feed(std::string_view bytes);
  State state() const { return state_; }
  // Some byte of the next request has come.
  bool begun() const { return wire_ > 0; }
  // The client waits for a word before it sends the body; told once.
  bool TakeContinue();

  HttpRequest& request() { return request_; }
  const HttpResponse& refusal() const { return refusal_; }
  // After a whole request: ready for the next one.
  void Next();

 private:
  static RequestParser& Of(http_parser* parser);
  static const http_parser_settings& Calls();

  int Refuse(int status, absl::string_view why);
  int Target(std::string_view piece);
  int Name(std::string_view piece);
  int Value(std::string_view piece);
  int EndHead();
  int Body(std::string_view piece);
  int End();
  int Grow(size_t bytes);
  std::string* WantedHeader();

  const RequestLimits limits_;
  http_parser parser_;
  State state_ = State::kHead;
  HttpRequest request_;
  HttpResponse refusal_;
  std::string target_;
  std::string name_;
  std::string content_encoding_;
  std::string expect_;
  size_t head_ = 0;
  size_t wire_ = 0;
  bool in_value_ = false;
  bool continue_ = false;
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_WEB_HTTP_REQUEST_PARSER_H_
