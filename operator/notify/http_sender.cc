#include "operator/notify/http_sender.h"

#include <cstddef>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/files/files.h"
#include "httplib.h"

namespace muster::control {
namespace {

constexpr int kConnectSeconds = 5;
constexpr int kTransferSeconds = 10;
// Nothing of an answer is needed but its status.
constexpr size_t kMaxAnswer = size_t{64} << 10;
constexpr absl::Duration kLongest = absl::Seconds(30);

absl::StatusOr<httplib::Headers> HeadersFor(const Receiver& receiver) {
  httplib::Headers headers = {{"User-Agent", "muster-operator"}};
  if (receiver.authorization_file.empty()) return headers;
  const absl::StatusOr<std::string> text = ReadFile(FileSystem(), receiver.authorization_file);
  if (!text.ok()) return text.status();
  const std::string value(absl::StripAsciiWhitespace(*text));
  // A line break would begin another header.
  if (value.find_first_of("\r\n") != std::string::npos) {
    return absl::InvalidArgumentError(
        absl::StrCat(receiver.authorization_file, ": want one line, as in Bearer TOKEN"));
  }
  headers.emplace("Authorization", value);
  return headers;
}

}  // namespace

absl::Status HttpSender::Post(const Receiver& receiver, const std::string& body) {
  absl::StatusOr<httplib::Headers> headers = HeadersFor(receiver);
  if (!headers.ok()) return headers.status();
  httplib::Client client(receiver.origin);
  client.set_connection_timeout(kConnectSeconds);
  client.set_read_timeout(kTransferSeconds);
  client.set_write_timeout(kTransferSeconds);
  if (!receiver.ca_file.empty()) client.set_ca_cert_path(receiver.ca_file);
  client.enable_server_certificate_verification(true);
  httplib::Request request;
  request.method = "POST";
  request.path = receiver.path;
  request.headers = *std::move(headers);
  request.headers.emplace("Content-Type", "application/json");
  request.body = body;
  size_t received = 0;
  const absl::Time deadline = Clock::Real().Monotonic() + kLongest;
  request.content_receiver = [&](const char*, size_t size, uint64_t, uint64_t) {
    received += size;
    return received <= kMaxAnswer && Clock::Real().Monotonic() < deadline;
  };
  const httplib::Result result = client.send(request);
  if (!result) {
    return absl::UnavailableError(
        absl::StrCat("the request failed: ", httplib::to_string(result.error())));
  }
  if (result->status / 100 == 2) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat("it answered with status ", result->status));
}

}  // namespace muster::control
