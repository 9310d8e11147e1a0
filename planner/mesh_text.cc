#include "planner/mesh_text.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace muster::planner {
namespace {

// Returns runs of neighbours, such as "0-1,4".
std::string RunsText(const std::set<int>& numbers) {
  std::vector<std::string> runs;
  for (auto begin = numbers.begin(); begin != numbers.end();) {
    auto last = begin;
    while (std::next(last) != numbers.end() && *std::next(last) == *last + 1) ++last;
    runs.push_back(last == begin ? absl::StrCat(*begin) : absl::StrCat(*begin, "-", *last));
    begin = std::next(last);
  }
  return absl::StrJoin(runs, ",");
}

}  // namespace

std::string MeshText(const v1alpha1::Mesh& mesh, int first, int count) {
  const struct {
    const char* name;
    int extent;
  } axes[] = {{"pipeline", std::max(1, mesh.pipeline())},
              {"data", std::max(1, mesh.data())},
              {"shard", std::max(1, mesh.shard())},
              {"context", std::max(1, mesh.context())},
              {"tensor", std::max(1, mesh.tensor())}};
  int all = 1;
  for (const auto& axis : axes) all *= axis.extent;
  if (all == std::max(1, mesh.data())) return "";
  std::vector<std::string> places;
  int inside = all;  // ranks that differ in this axis and those inside of it
  for (const auto& axis : axes) {
    const int step = inside / axis.extent;
    std::set<int> coordinates;
    for (int rank = first; rank < first + count; ++rank) {
      coordinates.insert(rank / step % axis.extent);
    }
    inside = step;
    if (axis.extent == 1) continue;
    places.push_back(absl::StrCat(axis.name, " ", RunsText(coordinates), " of ", axis.extent));
  }
  return absl::StrJoin(places, ", ");
}

}  // namespace muster::planner
