#ifndef MUSTER_TRAINER_DATA_BATCH_SOURCE_H_
#define MUSTER_TRAINER_DATA_BATCH_SOURCE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "trainer/data/sample_order.h"
#include "trainer/data/tokens.h"

namespace muster::trainer {

// `sequences` rows of `length` tokens, row-major.
struct TokenBatch {
  int64_t sequences = 0;
  int64_t length = 0;
  std::vector<int64_t> tokens;
  std::vector<int64_t> labels;   // the next token; kIgnored beyond the end of the data
  std::vector<int64_t> samples;  // each row's global position; its index in validation

  static constexpr int64_t kIgnored = -100;
};

struct BatchOptions {
  int64_t sequence = 0;     // tokens
  int64_t micro_batch = 0;  // sequences
  uint64_t seed = 0;
  // Every token must be below this.
  int64_t vocabulary = 0;
  // Number of micro-batches kept ready; 0: none.
  int prefetch = 0;
  bool start_thread = true;  // false: the caller calls RunOnce
};

// Cuts tokens into windows of sequence + 1 and hands out logical micro-batches. The contents of one
// depend on its place alone, never on rank or world size. The thread reads ahead the batches that
// the caller's pattern makes likely; a wrong guess costs only time. Thread-safe.
class BatchSource {
 public:
  // Returns InvalidArgument, with the numbers, if `training` is shorter than one window.
  static absl::StatusOr<std::unique_ptr<BatchSource>> Create(Tokens training, Tokens validation,
                                                             const BatchOptions& options);
  ~BatchSource();

  // Returns InvalidArgument if the data hold a token that the vocabulary does not have.
  absl::StatusOr<TokenBatch> Training(const MicroBatchPosition& place);
  // Returns windows in their order, the last one padded with ignored labels, rows beyond the end
  // all ignored. Empty if no data are kept for validation. `index` wraps at validation_batches().
  absl::StatusOr<TokenBatch> Validation(int64_t index) const;

  uint64_t training_sequences() const { return order_.sequences(); }
  int64_t validation_batches() const;

  // Returns how many micro-batches were ready when they were asked for.
  int64_t hits() const;

  // Prepares one batch that is likely next; returns false if there is nothing to do.
  bool RunOnce();

 private:
  using Key = std::pair<int64_t, int64_t>;  // samples before the step, micro-batch

  BatchSource(Tokens training, Tokens validation, const BatchOptions& options, uint64_t sequences);
  TokenBatch Read(Key key) const;
  absl::Status CheckTokens(const TokenBatch& batch, bool training) const;
  Key After(Key key) const MUSTER_REQUIRES(mu_);
  int64_t StepSamples() const MUSTER_REQUIRES(mu_) { return micro_batches_ * options_.micro_batch; }
  void Observe(const MicroBatchPosition& place) MUSTER_REQUIRES(mu_);
  bool FindWanted(Key& wanted) const MUSTER_REQUIRES(mu_);
  void Loop();

  const Tokens training_, validation_;
  const BatchOptions options_;
  const SampleOrder order_;

  mutable Mutex mu_;
  CondVar wake_;
  bool stop_ MUSTER_GUARDED_BY(mu_) = false;
  Key last_ MUSTER_GUARDED_BY(mu_) = {-1, 0};
  int64_t micro_batches_ MUSTER_GUARDED_BY(mu_) = 1;  // of the last step
  // The caller's range of micro-batches, as far as it is known.
  int64_t begin_ MUSTER_GUARDED_BY(mu_) = 0;
  int64_t end_ MUSTER_GUARDED_BY(mu_) = 0;
  int64_t hits_ MUSTER_GUARDED_BY(mu_) = 0;
  std::map<Key, TokenBatch> ready_ MUSTER_GUARDED_BY(mu_);
  std::thread thread_;
};

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_DATA_BATCH_SOURCE_H_
