#ifndef MUSTER_OPERATOR_KUBE_HTTP_HTTP_EXCHANGE_H_
#define MUSTER_OPERATOR_KUBE_HTTP_HTTP_EXCHANGE_H_

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "httplib.h"

namespace muster::kube {

// A request as it goes over the wire.
struct HttpRequest {
  std::string head;  // request line and headers, to the empty line that ends them
  std::string_view body;
};

// What is wanted of an answer, and what became of it.
struct HttpAnswer {
  // Takes the body as it arrives, after `code` is known, and decoded when it came as gzip. False
  // ends the exchange: so much that decoding cannot fill memory is for the receiver to bound.
  std::function<bool(std::string_view)> receive;

  int code = 0;  // 0: no answer began
  std::string retry_after;
  std::vector<std::string> warnings;  // the values of its Warning headers, the first few
  bool keeps_connection = true;       // it may serve another request
};

// One request and its answer over a connection, HTTP/1.1 as far as API servers speak it: bodies
// that are chunked, have a length, or end with the connection, plain or as gzip; answers of 1xx are
// passed over.
// httplib's own reading of an answer's head costs more than all else that a small call does, so
// http_parser reads it. True when the answer was read to its end. What comes is untrusted: a head
// is bounded, and what is no HTTP ends the exchange.
bool Exchange(httplib::Stream& stream, const HttpRequest& request, HttpAnswer& answer);

}  // namespace muster::kube

#endif  // MUSTER_OPERATOR_KUBE_HTTP_HTTP_EXCHANGE_H_
