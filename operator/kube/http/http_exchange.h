#ifndef MUSTER_OPERATOR_KUBE_HTTP_HTTP_EXCHANGE_H_
#define MUSTER_OPERATOR_KUBE_HTTP_HTTP_EXCHANGE_H_

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "httplib.h"

namespace muster::kube {

// A request in wire format.
struct HttpRequest {
  std::string head;  // request line and headers, including the final empty line
  std::string_view body;
};

// The receiver of an answer's body, and the rest of the answer.
struct HttpAnswer {
  // Receives the body as it arrives, decoded if it was sent as gzip; `code` is set by then. Returns
  // false to end the exchange. The receiver must bound the size, since decoding could otherwise
  // fill the memory.
  std::function<bool(std::string_view)> receive;

  int code = 0;  // 0: no answer began
  std::string retry_after;
  std::vector<std::string> warnings;  // the values of its Warning headers, the first few
  bool keeps_connection = true;       // the connection may serve another request
};

// Sends one request and reads its answer, in HTTP/1.1 as far as API servers use it: bodies that are
// chunked, have a length, or end with the connection, plain or as gzip. Answers with 1xx are
// skipped. http_parser reads the head, because httplib's own parsing costs more than all other work
// of a small call. Returns true if the answer was read to its end. The answer is untrusted: its
// head is bounded, and bytes that are not HTTP end the exchange.
bool Exchange(httplib::Stream& stream, const HttpRequest& request, HttpAnswer& answer);

}  // namespace muster::kube

#endif  // MUSTER_OPERATOR_KUBE_HTTP_HTTP_EXCHANGE_H_
