// Loads a kubeconfig of any bytes, alone and merged with another: no crash, every error names the
// file, and an accepted one has a server that can be dialled and whose certificate is always
// checked.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "base/files/files.h"
#include "base/testing/memory_files.h"
#include "operator/kube/credentials/kubeconfig.h"
#include "operator/kube/credentials/rest_config.h"
#include "operator/kube/http/server_url.h"

namespace muster::kube {
namespace {

constexpr char kBehind[] =
    "clusters: [{name: c, cluster: {server: \"https://a\"}}]\n"
    "users: [{name: u, user: {token: t}}]\n"
    "contexts: [{name: x, context: {cluster: c, user: u}}]\n"
    "current-context: x\n";

void Check(const absl::StatusOr<RestConfig>& config) {
  if (!config.ok()) {
    if (!absl::StartsWith(config.status().message(), "/")) std::abort();
    return;
  }
  if (!ParseServerUrl(config->server).ok()) std::abort();
  if (config->client_certificate.empty() != config->client_key.empty()) std::abort();
  if (config->exec.has_value() && config->exec->argv.front().empty()) std::abort();
}

}  // namespace
}  // namespace muster::kube

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace muster;        // NOLINT
  using namespace muster::kube;  // NOLINT
  MemoryFiles files;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (!WriteFileAtomically(files, "/fuzzed", text).ok()) std::abort();
  if (!WriteFileAtomically(files, "/behind", kBehind).ok()) std::abort();
  Check(LoadKubeconfig({"/fuzzed"}, "", files));
  Check(LoadKubeconfig({"/fuzzed", "/behind"}, "x", files));
  return 0;
}
