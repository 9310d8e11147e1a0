#include "operator/web/http/http_connection.h"

#include <string_view>
#include <utility>

namespace muster::control {
namespace {

constexpr size_t kReadBytes = 16 << 10;
constexpr size_t kDrainBytes = size_t{1} << 20;
constexpr absl::Duration kDrain = absl::Seconds(1);

}  // namespace

HttpConnection::HttpConnection(std::unique_ptr<Channel> channel, std::string peer,
                               const RequestLimits& limits, const Times& times, int requests,
                               absl::Time now)
    : channel_(std::move(channel)),
      peer_(std::move(peer)),
      times_(times),
      parser_(limits),
      requests_left_(requests),
      deadline_(now + times.patience) {}

void HttpConnection::Proceed(absl::Time now) {
  bool more = true;
  while (more) {
    switch (state_) {
      case State::kHandshake:
        more = Shake(now);
        break;
      case State::kReading:
        more = Parse(now) || Read(now);
        break;
      case State::kWriting:
        more = Write(now);
        break;
      case State::kDraining:
        more = Drain();
        break;
      case State::kWorking:
      case State::kClosed:
        more = false;
        break;
    }
  }
}

bool HttpConnection::Went(Moved moved) {
  wants_write_ = moved == Moved::kWantWrite;
  if (moved == Moved::kClosed) state_ = State::kClosed;
  return moved == Moved::kSome;
}

bool HttpConnection::Shake(absl::Time now) {
  if (!Went(channel_->Handshake())) return false;
  state_ = State::kReading;
  deadline_ = now + times_.idle;
  return true;
}

bool HttpConnection::Read(absl::Time now) {
  char buffer[kReadBytes];
  size_t got = 0;
  if (!Went(channel_->Read(buffer, sizeof(buffer), got))) return false;
  if (!parser_.begun()) deadline_ = now + times_.patience;
  in_.append(buffer, got);
  return true;
}

// Returns true if the state has changed.
bool HttpConnection::Parse(absl::Time now) {
  if (in_.empty()) return false;
  in_.erase(0, parser_.Feed(in_));
  switch (parser_.state()) {
    case RequestParser::State::kWhole:
      state_ = State::kWorking;
      wants_write_ = false;
      deadline_ = absl::InfiniteFuture();
      return true;
    case RequestParser::State::kRefused:
      Say(EncodeResponse(parser_.refusal(), /*keep_alive=*/false, /*head_only=*/false),
          State::kDraining, now);
      return true;
    default:
      if (!parser_.TakeContinue()) return false;
      Say("HTTP/1.1 100 Continue\r\n\r\n", State::kReading, now);
      return true;
  }
}

HttpRequest HttpConnection::TakeRequest() {
  HttpRequest request = std::move(parser_.request());
  request.peer = peer_;
  head_only_ = request.method == "HEAD";
  keep_alive_ = request.keep_alive && --requests_left_ > 0;
  return request;
}

void HttpConnection::Answer(const HttpResponse& response, absl::Time now) {
  Say(EncodeResponse(response, keep_alive_, head_only_),
      keep_alive_ ? State::kReading : State::kDraining, now);
  parser_.Next();
}

void HttpConnection::Say(std::string bytes, State next, absl::Time now) {
  out_ = std::move(bytes);
  sent_ = 0;
  state_ = State::kWriting;
  after_writing_ = next;
  deadline_ = now + times_.patience;
}

bool HttpConnection::Write(absl::Time now) {
  while (sent_ < out_.size()) {
    size_t sent = 0;
    if (!Went(channel_->Write(std::string_view(out_).substr(sent_), sent))) return false;
    sent_ += sent;
  }
  out_ = std::string();
  wants_write_ = false;
  state_ = after_writing_;
  if (state_ == State::kDraining) {
    channel_->EndWriting();
    in_.clear();
    deadline_ = now + kDrain;
  } else {
    deadline_ = now + (parser_.begun() || !in_.empty() ? times_.patience : times_.idle);
  }
  return true;
}

bool HttpConnection::Drain() {
  char buffer[kReadBytes];
  size_t got = 0;
  if (!Went(channel_->Read(buffer, sizeof(buffer), got))) return false;
  drained_ += got;
  if (drained_ > kDrainBytes) state_ = State::kClosed;
  return true;
}

}  // namespace muster::control
