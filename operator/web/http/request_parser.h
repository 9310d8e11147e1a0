#ifndef MUSTER_OPERATOR_WEB_HTTP_REQUEST_PARSER_H_
#define MUSTER_OPERATOR_WEB_HTTP_REQUEST_PARSER_H_

#include <http_parser.h>

#include <cstddef>
#include <string>
#include <string_view>

#include "operator/web/http/http_message.h"

namespace muster::control {

// Limits on the bytes of one request.
struct RequestLimits {
  size_t target = size_t{8} << 10;
  size_t head = size_t{16} << 10;   // all header lines, including the trailers of a chunked body
  size_t body = size_t{64} << 10;   // decoded: for a chunked body, the content of its chunks
  size_t wire = size_t{256} << 10;  // everything as received
};

// Parses one HTTP/1 request after another from bytes in pieces of any size. An unacceptable request
// is rejected as soon as that can be seen, before any more of it is read: a body in an encoding
// (415, so nothing is ever inflated), a body, head or target above its limit (413, 431, 414), other
// methods (405), and other transfer encodings, upgrades and bytes that are not HTTP (400). Range
// headers are ignored: an answer is always complete. No buffer grows beyond its limit. Pure; used
// by one thread.
class RequestParser {
 public:
  enum class State {
    kHead,     // no byte, or a part of the head
    kBody,     // the head is complete and accepted
    kWhole,    // request() is valid; Feed takes nothing until Next()
    kRefused,  // refusal() is valid; Feed takes nothing any more
  };

  explicit RequestParser(const RequestLimits& limits);
  RequestParser(const RequestParser&) = delete;
  RequestParser& operator=(const RequestParser&) = delete;

  // Consumes bytes of at most one request and returns how many.
  size_t Feed(std::string_view bytes);
  State state() const { return state_; }
  // Returns true if a byte of the next request has arrived.
  bool begun() const { return wire_ > 0; }
  // Returns true once if the client waits for "100 Continue" before it sends the body.
  bool TakeContinue();

  HttpRequest& request() { return request_; }
  const HttpResponse& refusal() const { return refusal_; }
  // Starts the next request; called after a complete one.
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
