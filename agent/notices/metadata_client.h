#ifndef MUSTER_AGENT_NOTICES_METADATA_CLIENT_H_
#define MUSTER_AGENT_NOTICES_METADATA_CLIENT_H_

#include <cstddef>
#include <map>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace muster::agent {

// The address at which AWS, Google and Azure serve a machine's metadata, over plain HTTP on the
// link.
inline constexpr char kMetadataAddress[] = "http://169.254.169.254";

struct MetadataAnswer {
  int status = 0;
  std::string flavor;  // the header Metadata-Flavor
  std::string body;
};

// Requests to a metadata service, each on a connection of its own. It follows no redirect and uses
// no proxy. What it returns is untrusted. One thread uses it.
class MetadataClient {
 public:
  using Headers = std::map<std::string, std::string>;
  // Answers with a larger body are refused: the services answer with a few lines, Azure's list of
  // events of a whole scale set included.
  static constexpr size_t kMaxBody = size_t{256} << 10;
  static constexpr absl::Duration kConnect = absl::Seconds(1);
  // The longest wait for some bytes, and for the whole answer.
  static constexpr absl::Duration kRead = absl::Seconds(2);
  static constexpr absl::Duration kWhole = absl::Seconds(5);

  // `base` is http://HOST:PORT or http://HOST.
  explicit MetadataClient(std::string base) : base_(std::move(base)) {}

  // Errors: kUnavailable, without an answer or with one that is too large or too slow.
  absl::StatusOr<MetadataAnswer> Get(const std::string& path, const Headers& headers) const {
    return Send("GET", path, headers);
  }
  absl::StatusOr<MetadataAnswer> Put(const std::string& path, const Headers& headers) const {
    return Send("PUT", path, headers);
  }

 private:
  absl::StatusOr<MetadataAnswer> Send(const std::string& method, const std::string& path,
                                      const Headers& headers) const;

  const std::string base_;
};

}  // namespace muster::agent

#endif  // MUSTER_AGENT_NOTICES_METADATA_CLIENT_H_
