#include "trainer/data/batch_source.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace muster::trainer {
namespace {

uint64_t Windows(uint64_t tokens, int64_t sequence) {
  return tokens == 0 ? 0 : (tokens - 1) / static_cast<uint64_t>(sequence);
}

TokenBatch EmptyBatch(int64_t sequences, int64_t length) {
  TokenBatch batch;
  batch.sequences = sequences;
  batch.length = length;
  batch.tokens.assign(static_cast<size_t>(sequences * length), 0);
  batch.labels.assign(static_cast<size_t>(sequences * length), TokenBatch::kIgnored);
  batch.samples.resize(static_cast<size_t>(sequences));
  return batch;
}

// Makes row `row` the window that starts at token `begin`; positions beyond the end stay ignored.
void FillRow(const Tokens& tokens, uint64_t begin, int64_t row, TokenBatch& batch) {
  if (begin + 1 >= tokens.size()) return;
  const uint64_t length =
      std::min<uint64_t>(static_cast<uint64_t>(batch.length), tokens.size() - 1 - begin);
  const size_t at = static_cast<size_t>(row * batch.length);
  tokens.Copy(begin, {batch.tokens.data() + at, length});
  tokens.Copy(begin + 1, {batch.labels.data() + at, length});
}

}  // namespace

absl::StatusOr<std::unique_ptr<BatchSource>> BatchSource::Create(Tokens training, Tokens validation,
                                                                 const BatchOptions& options) {
  if (options.sequence <= 0 || options.micro_batch <= 0 || options.vocabulary <= 0) {
    return absl::InvalidArgumentError("sequence, micro-batch and vocabulary must be positive");
  }
  const uint64_t sequences = Windows(training.size(), options.sequence);
  if (sequences == 0) {
    return absl::InvalidArgumentError(absl::StrCat("the training data has ", training.size(),
                                                   " tokens; one sequence of ", options.sequence,
                                                   " needs ", options.sequence + 1));
  }
  return std::unique_ptr<BatchSource>(
      new BatchSource(std::move(training), std::move(validation), options, sequences));
}

BatchSource::BatchSource(Tokens training, Tokens validation, const BatchOptions& options,
                         uint64_t sequences)
    : training_(std::move(training)),
      validation_(std::move(validation)),
      options_(options),
      order_(sequences, options.seed) {
  if (options_.prefetch > 0 && options_.start_thread) thread_ = std::thread([this] { Loop(); });
}

BatchSource::~BatchSource() {
  {
    MutexLock lock(mu_);
    stop_ = true;
    wake_.NotifyAll();
  }
  if (thread_.joinable()) thread_.join();
}

TokenBatch BatchSource::Read(Key key) const {
  TokenBatch batch = EmptyBatch(options_.micro_batch, options_.sequence);
  const int64_t first = key.first + key.second * options_.micro_batch;
  for (int64_t row = 0; row < batch.sequences; ++row) {
    const uint64_t position = static_cast<uint64_t>(first + row);
    batch.samples[static_cast<size_t>(row)] = first + row;
    FillRow(training_, order_.SequenceAt(position) * static_cast<uint64_t>(options_.sequence), row,
            batch);
  }
  return batch;
}

absl::Status BatchSource::CheckTokens(const TokenBatch& batch, bool training) const {
  const auto length = static_cast<size_t>(batch.length);
  for (const std::vector<int64_t>* ids : {&batch.tokens, &batch.labels}) {
    const auto highest = std::max_element(ids->begin(), ids->end());
    if (highest == ids->end() || *highest < options_.vocabulary) continue;
    const auto at = static_cast<size_t>(highest - ids->begin());
    const auto sample = static_cast<uint64_t>(batch.samples[at / length]);
    const uint64_t window = training ? order_.SequenceAt(sample) : sample;
    const uint64_t position = (training ? 0 : training_.size()) + window * length + at % length +
                              (ids == &batch.labels ? 1 : 0);
    return absl::InvalidArgumentError(
        absl::StrCat("the data hold token ", *highest, " at position ", position,
                     ", but the vocabulary ends at ", options_.vocabulary - 1));
  }
  return absl::OkStatus();
}

absl::StatusOr<TokenBatch> BatchSource::Training(const MicroBatchPosition& place) {
  const Key key = {place.consumed, place.micro_batch};
  std::optional<TokenBatch> batch;
  {
    MutexLock lock(mu_);
    Observe(place);
    auto found = ready_.find(key);
    if (found != ready_.end()) {
      batch = std::move(found->second);
      ready_.erase(found);
      ++hits_;
    }
    wake_.NotifyAll();
  }
  if (!batch) batch = Read(key);
  MUSTER_RETURN_IF_ERROR(CheckTokens(*batch, /*training=*/true));
  return *std::move(batch);
}

int64_t BatchSource::validation_batches() const {
  if (validation_.size() < 2) return 0;
  const uint64_t per_batch = static_cast<uint64_t>(options_.micro_batch * options_.sequence);
  return static_cast<int64_t>((validation_.size() - 2) / per_batch + 1);
}

absl::StatusOr<TokenBatch> BatchSource::Validation(int64_t index) const {
  const int64_t batches = validation_batches();
  if (batches == 0) return TokenBatch{};
  TokenBatch batch = EmptyBatch(options_.micro_batch, options_.sequence);
  const int64_t first = (index % batches) * options_.micro_batch;
  for (int64_t row = 0; row < batch.sequences; ++row) {
    batch.samples[static_cast<size_t>(row)] = first + row;
    FillRow(validation_, static_cast<uint64_t>((first + row) * options_.sequence), row, batch);
  }
  MUSTER_RETURN_IF_ERROR(CheckTokens(batch, /*training=*/false));
  return batch;
}

// Learns the range that the caller walks through once a step: both its ends show after one step.
void BatchSource::Observe(const MicroBatchPosition& place) {
  const Key key = {place.consumed, place.micro_batch};
  if (key.first != last_.first) {
    const bool next_step = last_.first >= 0 && key.first == last_.first + StepSamples();
    if (next_step) end_ = last_.second + 1;
    begin_ = key.second;
    if (end_ <= begin_ || place.micro_batches != micro_batches_) end_ = place.micro_batches;
  } else if (key.second >= end_) {
    end_ = place.micro_batches;
  }
  micro_batches_ = place.micro_batches;
  last_ = key;
  // A batch behind the caller, or far ahead because the caller jumped back, was a wrong guess.
  for (auto it = ready_.begin(); it != ready_.end();) {
    const bool useful =
        it->first >= key && it->first.first <= key.first + options_.prefetch * StepSamples();
    it = useful ? std::next(it) : ready_.erase(it);
  }
}

BatchSource::Key BatchSource::After(Key key) const {
  if (key.second + 1 < end_) return {key.first, key.second + 1};
  return {key.first + StepSamples(), begin_};
}

bool BatchSource::FindWanted(Key& wanted) const {
  if (last_.first < 0) return false;
  wanted = last_;
  for (int i = 0; i < options_.prefetch; ++i) {
    wanted = After(wanted);
    if (!ready_.contains(wanted)) return true;
  }
  return false;
}

int64_t BatchSource::hits() const {
  MutexLock lock(mu_);
  return hits_;
}

bool BatchSource::RunOnce() {
  Key wanted;
  {
    MutexLock lock(mu_);
    if (!FindWanted(wanted)) return false;
  }
  TokenBatch batch = Read(wanted);
  MutexLock lock(mu_);
  // The caller may have overtaken this thread.
  if (wanted > last_) ready_.emplace(wanted, std::move(batch));
  return true;
}

void BatchSource::Loop() {
  while (true) {
    {
      MutexLock lock(mu_);
      Key wanted;
      while (!stop_ && !FindWanted(wanted)) wake_.Wait(mu_);
      if (stop_) return;
    }
    RunOnce();
  }
}

}  // namespace muster::trainer
