#include "operator/core/state/index_ranges.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace muster::control {

std::string FormatIndices(const std::set<int>& indices) {
  std::vector<std::string> ranges;
  for (auto it = indices.begin(); it != indices.end();) {
    const int first = *it;
    int last = first;
    while (++it != indices.end() && *it == last + 1) last = *it;
    ranges.push_back(first == last ? absl::StrCat(first) : absl::StrCat(first, "-", last));
  }
  return absl::StrJoin(ranges, ",");
}

std::set<int> ParseIndices(absl::string_view text, int limit) {
  std::set<int> indices;
  for (absl::string_view range : absl::StrSplit(text, ',', absl::SkipEmpty())) {
    const std::pair<absl::string_view, absl::string_view> ends =
        absl::StrSplit(range, absl::MaxSplits('-', 1));
    int first = 0;
    if (!absl::SimpleAtoi(ends.first, &first) || first < 0) continue;
    int last = first;
    if (!ends.second.empty() && !absl::SimpleAtoi(ends.second, &last)) continue;
    for (int index = first; index <= std::min(last, limit - 1); ++index) indices.insert(index);
  }
  return indices;
}

std::string NameWorkers(const std::set<int>& indices) {
  return absl::StrCat(indices.size() == 1 ? "worker " : "workers ", FormatIndices(indices));
}

}  // namespace muster::control
