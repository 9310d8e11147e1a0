#ifndef MUSTER_OPERATOR_COORDINATOR_IDENTITY_VALIDITY_TABLE_H_
#define MUSTER_OPERATOR_COORDINATOR_IDENTITY_VALIDITY_TABLE_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "absl/time/time.h"
#include "base/mutex.h"

namespace muster::control {

// The times until which workers have proven their identity. A stream holds its worker's entry; a
// renewed certificate extends it, so that the stream outlives the certificate with which it was
// opened. Monotonic times. Entries that no stream holds are dropped. Thread-safe.
class ValidityTable {
 public:
  class Entry {
   public:
    bool ValidAt(absl::Time now) const {
      return absl::ToUnixMicros(now) < until_us_.load(std::memory_order_relaxed);
    }

   private:
    friend class ValidityTable;
    std::atomic<int64_t> until_us_{INT64_MIN};
  };

  // Returns the entry of the worker `uri`, valid at least until `until`.
  std::shared_ptr<const Entry> Hold(const std::string& uri, absl::Time until);
  // Does nothing if no stream holds an entry.
  void Extend(const std::string& uri, absl::Time until);
  size_t size() const;

 private:
  static void Raise(Entry& entry, absl::Time until);
  void DropUnused() MUSTER_REQUIRES(mu_);

  mutable Mutex mu_;
  std::map<std::string, std::weak_ptr<Entry>> entries_ MUSTER_GUARDED_BY(mu_);
  size_t clean_at_ MUSTER_GUARDED_BY(mu_) = 64;
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_COORDINATOR_IDENTITY_VALIDITY_TABLE_H_
