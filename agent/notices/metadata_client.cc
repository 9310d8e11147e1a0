#include "agent/notices/metadata_client.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "httplib.h"

namespace muster::agent {

absl::StatusOr<MetadataAnswer> MetadataClient::Send(const std::string& method,
                                                    const std::string& path,
                                                    const Headers& headers) const {
  httplib::Client client(base_);
  client.set_connection_timeout(absl::ToInt64Seconds(kConnect));
  client.set_read_timeout(absl::ToInt64Seconds(kRead));
  client.set_write_timeout(absl::ToInt64Seconds(kRead));
  client.set_follow_location(false);
  httplib::Request request;
  request.method = method;
  request.path = path;
  for (const auto& [name, value] : headers) request.headers.emplace(name, value);
  if (method == "PUT") request.headers.emplace("Content-Length", "0");
  std::string body;
  bool too_large = false;
  const absl::Time deadline = Clock::Boot().Monotonic() + kWhole;
  request.content_receiver = [&](const char* data, size_t size, uint64_t, uint64_t) {
    too_large = size > kMaxBody - body.size();
    if (!too_large) body.append(data, size);
    return !too_large && Clock::Boot().Monotonic() < deadline;
  };
  const httplib::Result result = client.send(request);
  if (too_large) {
    return absl::UnavailableError(
        absl::StrCat(base_, path, ": the answer has more than ", kMaxBody, " bytes"));
  }
  if (!result) {
    return absl::UnavailableError(
        absl::StrCat(base_, path, ": ", httplib::to_string(result.error())));
  }
  return MetadataAnswer{result->status, result->get_header_value("Metadata-Flavor"),
                        std::move(body)};
}

}  // namespace muster::agent
