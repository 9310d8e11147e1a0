#include "operator/kube/rest/server_warnings.h"

#include "base/logging.h"

namespace muster::kube {
namespace {

constexpr std::string_view kPersistent = "299 ";  // the one code that API servers use
constexpr size_t kMaxText = 1024;

}  // namespace

std::optional<std::string> WarningText(std::string_view header) {
  if (header.substr(0, kPersistent.size()) != kPersistent) return std::nullopt;
  const size_t begin = header.find('"');
  if (begin == header.npos) return std::nullopt;
  std::string text;
  for (size_t i = begin + 1; i < header.size(); ++i) {
    if (header[i] == '"')
      return text.empty() ? std::nullopt : std::optional(text.substr(0, kMaxText));
    if (header[i] == '\\' && i + 1 < header.size()) ++i;
    text.push_back(header[i] >= ' ' && header[i] <= '~' ? header[i] : ' ');
  }
  return std::nullopt;
}

std::vector<std::string> ServerWarnings::Log(const std::vector<std::string>& headers) {
  std::vector<std::string> fresh;
  for (const std::string& header : headers) {
    const std::optional<std::string> text = WarningText(header);
    if (!text.has_value()) continue;
    MutexLock lock(mu_);
    if (logged_.size() < kMost && logged_.insert(*text).second) fresh.push_back(*text);
  }
  for (const std::string& text : fresh) {
    MUSTER_LOG(WARN, "the API server warns", {"warning", text});
  }
  return fresh;
}

}  // namespace muster::kube
