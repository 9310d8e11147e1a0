#include "agent/hardware/fabric_links.h"

#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace muster::agent {
namespace {

constexpr size_t kGuidDigits = 16;
constexpr size_t kMaxName = 64;  // of a NodeDescription, by the InfiniBand specification

// Takes what stands between the next two quotation marks, and all before it.
std::optional<absl::string_view> TakeQuoted(absl::string_view& text) {
  const size_t open = text.find('"');
  if (open == absl::string_view::npos) return std::nullopt;
  const size_t close = text.find('"', open + 1);
  if (close == absl::string_view::npos) return std::nullopt;
  const absl::string_view quoted = text.substr(open + 1, close - open - 1);
  text.remove_prefix(close + 1);
  return quoted;
}

// Reads "H-0000000000100004" with its letter: H is an adapter, S a switch.
std::optional<std::string> GuidIn(absl::string_view node, absl::string_view prefix) {
  if (!absl::ConsumePrefix(&node, prefix) || node.size() != kGuidDigits) return std::nullopt;
  for (const char c : node) {
    if (!absl::ascii_isxdigit(static_cast<unsigned char>(c))) return std::nullopt;
  }
  return absl::AsciiStrToLower(node);
}

// Takes "[12]".
std::optional<int> TakePort(absl::string_view& text) {
  const size_t close = text.find(']');
  int port = 0;
  if (!absl::ConsumePrefix(&text, "[") || close == absl::string_view::npos ||
      !absl::SimpleAtoi(text.substr(0, close - 1), &port) || port < 0) {
    return std::nullopt;
  }
  text.remove_prefix(close);
  return port;
}

// Reads the line of an adapter's port:
//   [1](100005) 	"S-0000000000200001"[1]		# lid 0 lmc 0 "leaf-1" lid 0 4xSDR
void ReadPort(absl::string_view line, const std::string& adapter, FabricLinks& links) {
  const std::optional<int> port = TakePort(line);
  if (!port) return;
  const std::optional<absl::string_view> other = TakeQuoted(line);
  if (!other) return;
  const std::optional<std::string> guid = GuidIn(*other, "S-");
  if (!guid) return;
  const absl::string_view name = TakeQuoted(line).value_or("");
  links[{adapter, *port}] = {*guid, std::string(name.substr(0, kMaxName))};
}

}  // namespace

absl::StatusOr<FabricLinks> ParseIbnetdiscover(absl::string_view text) {
  FabricLinks links;
  std::optional<std::string> adapter;  // of the block that is being read
  bool any = false;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    if (line.empty() || line[0] == '#') continue;
    if (line[0] == '[') {
      if (adapter) ReadPort(line, *adapter, links);
      continue;
    }
    // Any other line ends the ports of a block; some of them open the next.
    adapter.reset();
    const std::vector<absl::string_view> words =
        absl::StrSplit(line, absl::ByAnyChar(" \t"), absl::SkipEmpty());
    if (words.size() < 3) continue;
    const bool opens = words[0] == "Ca" || words[0] == "Switch" || words[0] == "Rt";
    any |= opens;
    if (words[0] != "Ca") continue;
    if (const auto quoted = TakeQuoted(line)) adapter = GuidIn(*quoted, "H-");
  }
  if (!any) {
    return absl::InvalidArgumentError(absl::StrCat(
        "no switch and no adapter stands in what ibnetdiscover printed, which begins: ",
        text.substr(0, 200)));
  }
  return links;
}

}  // namespace muster::agent
