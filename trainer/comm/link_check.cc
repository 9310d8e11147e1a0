#include "trainer/comm/link_check.h"

#include <map>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "trainer/comm/peer_user.h"

namespace muster::trainer {
namespace {

std::string Link(int from, int to) { return absl::StrCat(from, "-", to); }

}  // namespace

absl::Status CheckLinks(StoreClient& client, const std::string& tag, int rank, int size,
                        const std::set<ConnectedSocket>& sockets, absl::Time until) {
  const auto key = [&](int of) { return absl::StrCat(tag, "/links/", of); };
  std::string text;
  std::map<std::string, int> mirrored;  // descriptors, by what the other ends tell of them
  for (const ConnectedSocket& socket : sockets) {
    absl::StrAppend(&text, Link(socket.local_port, socket.peer_port), ",");
    mirrored[Link(socket.peer_port, socket.local_port)] = socket.fd;
  }
  MUSTER_RETURN_IF_ERROR(client.Set(key(rank), text, until));
  for (int other = 0; other < size; ++other) {
    if (other == rank) continue;
    MUSTER_ASSIGN_OR_RETURN(const std::string theirs, client.WaitFor(key(other), until));
    bool found = false;
    for (const absl::string_view link : absl::StrSplit(theirs, ',', absl::SkipEmpty())) {
      const auto own = mirrored.find(std::string(link));
      found = found || (own != mirrored.end() && MayBeOwnUser(own->second));
    }
    if (!found) {
      return absl::PermissionDeniedError(absl::StrCat(
          "group ", tag, ": the connection to rank ", other,
          " ends somewhere else: in a program that is not of this round, or in a proxy between the "
          "ranks, which must let their ports through"));
    }
  }
  return absl::OkStatus();
}

}  // namespace muster::trainer
