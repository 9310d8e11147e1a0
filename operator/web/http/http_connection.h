#ifndef MUSTER_OPERATOR_WEB_HTTP_HTTP_CONNECTION_H_
#define MUSTER_OPERATOR_WEB_HTTP_HTTP_CONNECTION_H_

#include <cstddef>
#include <memory>
#include <string>

#include "absl/time/time.h"
#include "operator/web/http/channel.h"
#include "operator/web/http/http_message.h"
#include "operator/web/http/request_parser.h"

namespace muster::control {

// The state machine of one connection. Its server waits for the socket; it never blocks itself.
// Times are Monotonic. Used by one thread.
class HttpConnection {
 public:
  struct Times {
    absl::Duration patience;
    absl::Duration idle;
  };
  enum class State {
    kHandshake,
    kReading,
    kWorking,  // take the request, then call Answer()
    kWriting,
    kDraining,  // all is sent; further input is dropped so that the peer can read the answer
    kClosed,
  };

  HttpConnection(std::unique_ptr<Channel> channel, std::string peer, const RequestLimits& limits,
                 const Times& times, int requests, absl::Time now);

  // Proceeds as far as possible without blocking.
  void Proceed(absl::Time now);
  // Returns the request. Only in kWorking.
  HttpRequest TakeRequest();
  void Answer(const HttpResponse& response, absl::Time now);

  State state() const { return state_; }
  int socket() const { return channel_->socket(); }
  // Returns true if it waits to write rather than to read.
  bool wants_write() const { return wants_write_; }
  // Returns the time at which to close it if it is still waiting; infinite in kWorking.
  absl::Time deadline() const { return deadline_; }
  const std::string& peer() const { return peer_; }

 private:
  bool Shake(absl::Time now);
  bool Read(absl::Time now);
  bool Parse(absl::Time now);
  bool Write(absl::Time now);
  bool Drain();
  // Records the result of an I/O call. Returns true for kSome; otherwise there is nothing to do
  // now.
  bool Went(Moved moved);
  void Say(std::string bytes, State next, absl::Time now);

  const std::unique_ptr<Channel> channel_;
  const std::string peer_;
  const Times times_;
  RequestParser parser_;
  State state_ = State::kHandshake;
  State after_writing_ = State::kReading;
  std::string in_;  // bytes read but not yet parsed
  std::string out_;
  size_t sent_ = 0;
  size_t drained_ = 0;
  int requests_left_;
  bool keep_alive_ = false;
  bool head_only_ = false;
  bool wants_write_ = false;
  absl::Time deadline_;
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_WEB_HTTP_HTTP_CONNECTION_H_
