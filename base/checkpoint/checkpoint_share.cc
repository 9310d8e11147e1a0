#include "base/checkpoint/checkpoint_share.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <optional>
#include <system_error>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/json_fields.h"

namespace muster {
namespace {

constexpr size_t kMostNamed = 3;

// Reads a number that is followed by `rest` and takes both off the text.
std::optional<int> TakeNumber(std::string_view& text, std::string_view rest) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  if (!text.starts_with(rest)) return std::nullopt;
  text.remove_prefix(rest.size());
  return number;
}

bool IsIn(const Json& tensor, std::string_view file) {
  const Json& slices = ArrayField(tensor, "slices");
  return std::any_of(slices.begin(), slices.end(),
                     [file](const Json& slice) { return StringField(slice, "file") == file; });
}

}  // namespace

std::string WriterOfShare(std::string_view file) {
  const size_t dash = file.find('-');
  if (dash == std::string_view::npos) return "";
  std::string_view rest = file.substr(dash + 1);
  const std::optional<int> number = TakeNumber(rest, "-of-");
  const std::optional<int> writers = TakeNumber(rest, ".safetensors");
  if (!number || !writers || !rest.empty() || *number < 1 || *number > *writers) return "";
  return absl::StrCat("rank ", *number - 1, " of ", *writers);
}

std::string ContentsOfShare(const Json& manifest, std::string_view file) {
  const std::string writer = WriterOfShare(file);
  if (writer.empty()) return "";
  std::vector<std::string> named;
  size_t count = 0;
  for (const Json& tensor : ArrayField(manifest, "tensors")) {
    if (!IsIn(tensor, file)) continue;
    if (count++ < kMostNamed) named.push_back(StringField(tensor, "name"));
  }
  const std::string more =
      count > kMostNamed ? absl::StrCat(" and ", count - kMostNamed, " more") : "";
  return absl::StrCat(
      "; ", writer, " saved ", count,
      count == 1 ? " tensor, or a part of it, in it: " : " tensors, or parts of them, in it: ",
      absl::StrJoin(named, ", "), more);
}

}  // namespace muster
