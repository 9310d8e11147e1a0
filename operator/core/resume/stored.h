#ifndef MUSTER_OPERATOR_CORE_RESUME_STORED_H_
#define MUSTER_OPERATOR_CORE_RESUME_STORED_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "proto/muster/v1alpha1/run_state.pb.h"

namespace muster::control {

// The checkpoints that the ranks of a round see in their checkpoint directory: each one once, with
// the number of ranks that see it. Built in one pass over the positions. Pure.
class Stored {
 public:
  struct Entry {
    v1alpha1::CheckpointRef ref;
    size_t ranks = 0;      // the number of ranks that see it
    std::string mismatch;  // the reason why some rank cannot use it; empty: all can
    bool common = false;   // every rank sees it
    bool bad = false;      // some rank could not load it

    bool usable() const { return common && !bad && mismatch.empty(); }
    int64_t step() const { return ref.version().step(); }
    std::string history() const;
  };

  Stored(absl::Span<const v1alpha1::RankPosition> positions, const std::set<std::string>& bad);

  // Returns the newest entry, by attempt and step, for which `predicate` is true, or null. An empty
  // history matches all.
  template <typename Predicate>
  const Entry* Newest(absl::string_view history, Predicate predicate) const {
    for (auto entry = entries_.rbegin(); entry != entries_.rend(); ++entry) {
      if (!history.empty() && entry->second.history() != history) continue;
      if (predicate(entry->second)) return &entry->second;
    }
    return nullptr;
  }
  const Entry* NewestUsable(absl::string_view history) const {
    return Newest(history, [](const Entry& entry) { return entry.usable(); });
  }
  // Returns the reason why a rank could not list the directory; empty if every rank could.
  const std::string& listing_error() const { return listing_error_; }

 private:
  // attempt, step, directory, history
  using Key = std::tuple<int64_t, int64_t, std::string, std::string>;
  std::map<Key, Entry> entries_;
  std::string listing_error_;
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_RESUME_STORED_H_
