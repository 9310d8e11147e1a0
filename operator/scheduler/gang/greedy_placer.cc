#include "operator/scheduler/gang/greedy_placer.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "operator/placement/filter/gang_filter.h"
#include "operator/placement/placement.h"

namespace muster::control {
namespace {

class OneByOne {
 public:
  OneByOne(const PlacementWorld& world, const PartialGang& gang,
           const std::map<int, PodPointer>& pods, const GangNodes& others)
      : tree_(world.tree),
        gang_(gang),
        pods_(pods),
        others_(others),
        links_(world.model.links()),
        filter_(world.snapshot, world.states, PlacedByMuster()),
        so_far_(gang) {}
  ~OneByOne() {
    for (int node : taken_) tree_.Charge(node, -gang_.request.per_worker);
  }
  OneByOne(const OneByOne&) = delete;
  OneByOne& operator=(const OneByOne&) = delete;

  std::variant<Completion, NoNextPlace> Run() {
    std::string why_not;
    std::optional<int> left_out;  // a slice
    for (const int worker : gang_.missing) {
      if (left_out == SliceOf(worker)) continue;
      std::string no = PlaceOne(worker);
      if (no.empty()) continue;
      if (why_not.empty()) why_not = std::move(no);
      left_out = SliceOf(worker);
      if (!LeaveOut(*left_out)) break;
    }
    Completion completion;
    std::vector<std::string> nodes;
    for (const auto& [worker, node] : so_far_.placed) {
      nodes.push_back(node);
      if (gang_.placed.count(worker) == 0) completion.nodes[worker] = node;
    }
    if (placed() < gang_.request.min || completion.nodes.empty()) {
      return NoNextPlace{placed(), std::move(why_not)};
    }
    completion.gang = ScorePlacement(tree_, gang_.request, nodes, links_);
    return completion;
  }

 private:
  int placed() const { return static_cast<int>(so_far_.placed.size()); }

  // Returns the index of the worker's outermost slice.
  int SliceOf(int worker) const {
    const std::vector<Slice>& slices = gang_.request.slices;
    return slices.empty() ? worker : worker / std::max(1, slices.front().size);
  }

  // Takes back the slice's workers. Returns true if other slices may still find places: this one
  // had to join members that were placed before, and none of the rest of it could.
  bool LeaveOut(int slice) {
    const auto in_slice = [&](const auto& entry) { return SliceOf(entry.first) == slice; };
    const size_t taken = std::erase_if(so_far_.placed, [&](const auto& entry) {
      return in_slice(entry) && gang_.placed.count(entry.first) == 0;
    });
    return taken == 0 && std::any_of(gang_.placed.begin(), gang_.placed.end(), in_slice);
  }

  // Returns why there is no place, or nothing.
  std::string PlaceOne(int worker) {
    const PodPointer& pod = pods_.at(worker);
    // The rest of its slice is asked for too, because it has to fit where the slice begins.
    so_far_.missing.clear();
    for (const int other : gang_.missing) {
      if (other >= worker && SliceOf(other) == SliceOf(worker)) so_far_.missing.push_back(other);
    }
    so_far_.request.max = placed() + static_cast<int>(so_far_.missing.size());
    so_far_.request.min = so_far_.request.max;
    std::string node;
    {
      const GangNodes nodes = filter_.NodesFor(pod, tree_);
      const GatedTree without(tree_, &others_, gang_.request.per_worker);
      const GatedTree gated(tree_, &nodes, gang_.request.per_worker);
      auto answer = CompleteGang(tree_, so_far_, links_);
      if (const auto* no = std::get_if<Unplaceable>(&answer)) {
        if (!nodes.left_out.empty()) return absl::StrCat("of the nodes ", nodes.left_out);
        return absl::StrCat("there is no place for another: ", no->sentence);
      }
      node = std::get<Completion>(answer).nodes.at(worker);
    }
    so_far_.placed[worker] = node;
    const int index = *tree_.FindNode(node);
    filter_.Place(pod, index);
    tree_.Charge(index, gang_.request.per_worker);
    taken_.push_back(index);
    return "";
  }

  TopologyTree& tree_;
  const PartialGang& gang_;
  const std::map<int, PodPointer>& pods_;
  const GangNodes& others_;
  const std::map<std::string, Link>& links_;
  GangFilter filter_;
  PartialGang so_far_;
  std::vector<int> taken_;
};

}  // namespace

std::variant<Completion, NoNextPlace> PlaceOneByOne(const PlacementWorld& world,
                                                    const PartialGang& gang,
                                                    const std::map<int, PodPointer>& pods,
                                                    const GangNodes& others) {
  return OneByOne(world, gang, pods, others).Run();
}

}  // namespace muster::control
