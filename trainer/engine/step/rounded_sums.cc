#include "trainer/engine/step/rounded_sums.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "ATen/ops/cat.h"
#include "ATen/ops/empty.h"
#include "absl/status/status.h"
#include "base/status_macros.h"
#include "planner/activations.h"
#include "trainer/engine/step/packed_numbers.h"
#include "trainer/parallel/slices.h"
#include "trainer/parallel/unit_layout.h"

namespace muster::trainer {
namespace {

using planner::kInt8Block;

static_assert(kChunkElements % kInt8Block == 0, "a block lies in one chunk, and so in one slice");

// The generator SplitMix64 (Steele et al., 2014).
uint64_t NextRandom(uint64_t& state) {
  uint64_t z = (state += 0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

uint64_t StateOf(const RoundingKey& key) {
  uint64_t state = key.seed;
  for (const int64_t part : {key.rank, key.step, key.unit, key.exchange}) {
    state = NextRandom(state) ^ static_cast<uint64_t>(part);
  }
  return state;
}

// Returns numbers that are uniform in [0, 1), of shape [blocks of a chunk, kInt8Block]. All chunks
// of an exchange share them. The means are right all the same, because the numbers change from step
// to step and from rank to rank.
at::Tensor UniformChunk(const RoundingKey& key, const at::TensorOptions& options) {
  at::Tensor chunk = at::empty({kChunkElements / kInt8Block, kInt8Block}, at::kDouble);
  uint64_t state = StateOf(key);
  double* const numbers = chunk.mutable_data_ptr<double>();
  // 24 bits are exact in FP32, and below 1.
  for (int64_t i = 0; i < kChunkElements; ++i) {
    numbers[i] = static_cast<double>(NextRandom(state) >> 40) * 0x1p-24;
  }
  return chunk.to(options);
}

// Returns the bytes of whole chunks in INT8: all steps, and then the scale of each block.
at::Tensor ToInt8(const at::Tensor& numbers, const at::Tensor& uniform) {
  const Int8Blocks blocks = RoundToInt8(numbers.view({-1, uniform.size(0), kInt8Block}), uniform);
  return at::cat(
      {blocks.steps.view({-1}).view(at::kByte), blocks.scales.view({-1}).view(at::kByte)});
}

at::Tensor FromInt8(const at::Tensor& bytes, int64_t count, c10::ScalarType type) {
  const at::Tensor steps = bytes.narrow(0, 0, count).view(at::kChar).view({-1, kInt8Block});
  const at::Tensor scales = bytes.narrow(0, count, bytes.numel() - count).clone().view(type);
  return steps.to(type).mul_(scales.view({-1, 1})).view({-1});
}

// Rounds the numbers that a rank sends, and reads those that it receives.
class Rounding {
 public:
  Rounding(SentNumbers numbers, const RoundingKey& key, const at::Tensor& like)
      : numbers_(numbers), type_(like.scalar_type()) {
    if (numbers == SentNumbers::kInt8) uniform_ = UniformChunk(key, like.options());
  }
  at::Tensor Round(const at::Tensor& numbers) const {
    if (numbers_ == SentNumbers::kBf16) return numbers.to(at::kBFloat16);
    return ToInt8(numbers, uniform_);
  }
  at::Tensor Read(const at::Tensor& sent, int64_t count) const {
    if (numbers_ == SentNumbers::kBf16) return sent.to(type_);
    return FromInt8(sent, count, type_);
  }
  c10::ScalarType sent_type() const {
    return numbers_ == SentNumbers::kBf16 ? at::kBFloat16 : at::kByte;
  }
  // Returns how many elements of sent_type() are sent for `count` numbers.
  int64_t Sent(int64_t count) const {
    const auto scale = static_cast<int64_t>(c10::elementSize(type_));
    return SentBytes(numbers_, count, scale) / static_cast<int64_t>(c10::elementSize(sent_type()));
  }

 private:
  SentNumbers numbers_;
  c10::ScalarType type_;
  at::Tensor uniform_;  // for INT8 only
};

int64_t SumOf(const std::vector<int64_t>& counts) {
  return std::accumulate(counts.begin(), counts.end(), int64_t{0});
}

class AllToAll final : public Pending {
 public:
  AllToAll(Communicator& group, Rounding rounding, at::Tensor output,
           std::vector<int64_t> output_counts, const at::Tensor& input,
           const std::vector<int64_t>& input_counts, const std::string& label)
      : rank_(group.rank()),
        rounding_(std::move(rounding)),
        output_(std::move(output)),
        counts_(std::move(output_counts)) {
    std::vector<at::Tensor> parts;
    std::vector<int64_t> sent, received;
    int64_t begin = 0;
    for (int r = 0; r < group.size(); ++r) {
      const int64_t count = input_counts[static_cast<size_t>(r)];
      const at::Tensor part = input.narrow(0, begin, count);
      begin += count;
      // This rank's own numbers stay here.
      if (r == rank_) own_ = part.clone();
      const bool sends = r != rank_ && count > 0;
      sent.push_back(sends ? rounding_.Sent(count) : 0);
      if (sends) parts.push_back(rounding_.Round(part));
      received.push_back(r == rank_ ? 0 : rounding_.Sent(counts_[static_cast<size_t>(r)]));
    }
    const auto options = input.options().dtype(rounding_.sent_type());
    const at::Tensor to_send = parts.empty() ? at::empty({0}, options) : at::cat(parts);
    received_ = at::empty({SumOf(received)}, options);
    pending_ = group.AllToAllV(received_, std::move(received), to_send, std::move(sent), label);
  }
  absl::Status Wait() override {
    MUSTER_RETURN_IF_ERROR(pending_->Wait());
    int64_t begin = 0, at_sent = 0;
    for (size_t r = 0; r < counts_.size(); ++r) {
      const at::Tensor part = output_.narrow(0, begin, counts_[r]);
      begin += counts_[r];
      if (static_cast<int>(r) == rank_) {
        part.copy_(own_);
      } else if (counts_[r] > 0) {
        const int64_t length = rounding_.Sent(counts_[r]);
        part.copy_(rounding_.Read(received_.narrow(0, at_sent, length), counts_[r]));
        at_sent += length;
      }
    }
    return absl::OkStatus();
  }

 private:
  const int rank_;
  const Rounding rounding_;
  const at::Tensor output_;
  const std::vector<int64_t> counts_;
  at::Tensor own_, received_;
  std::unique_ptr<Pending> pending_;
};

class AllReduce final : public Pending {
 public:
  AllReduce(Communicator& group, SentNumbers numbers, const RoundingKey& key, at::Tensor tensor,
            std::string label)
      : group_(group),
        numbers_(numbers),
        key_(key),
        tensor_(std::move(tensor)),
        label_(std::move(label)) {
    for (int r = 0; r < group.size(); ++r) {
      counts_.push_back(SliceOf(tensor_.numel() / kChunkElements, {r, group.size()}).leaves() *
                        kChunkElements);
    }
    const int64_t mine = counts_[static_cast<size_t>(group.rank())];
    shares_ = at::empty({mine * group.size()}, tensor_.options());
    const std::vector<int64_t> equal(static_cast<size_t>(group.size()), mine);
    pending_ = RoundedAllToAll(group, numbers, key, shares_, equal, tensor_, counts_, label_);
  }
  absl::Status Wait() override {
    MUSTER_RETURN_IF_ERROR(pending_->Wait());
    const int64_t mine = counts_[static_cast<size_t>(group_.rank())];
    const at::Tensor sum = shares_.narrow(0, 0, mine);
    for (int r = 1; r < group_.size(); ++r) sum.add_(shares_.narrow(0, r * mine, mine));
    return Share(sum);
  }

 private:
  // Sends the sum of this rank's slice to all ranks, itself included, so all have the same bits.
  absl::Status Share(const at::Tensor& sum) {
    RoundingKey key = key_;
    key.exchange = -1 - key_.exchange;
    const Rounding rounding(numbers_, key, tensor_);
    const auto ranks = static_cast<size_t>(group_.size());
    std::vector<int64_t> received;
    for (const int64_t count : counts_) received.push_back(rounding.Sent(count));
    const auto options = tensor_.options().dtype(rounding.sent_type());
    const at::Tensor rounded =
        sum.numel() == 0 ? at::empty({0}, options) : rounding.Round(sum).contiguous();
    at::Tensor sums = at::empty({SumOf(received)}, options);
    MUSTER_RETURN_IF_ERROR(group_
                               .AllToAllV(sums, received, rounded.repeat({group_.size()}),
                                          std::vector<int64_t>(ranks, rounded.numel()), label_)
                               ->Wait());
    int64_t begin = 0, at_sent = 0;
    for (size_t r = 0; r < ranks; ++r) {
      if (counts_[r] > 0) {
        tensor_.narrow(0, begin, counts_[r])
            .copy_(rounding.Read(sums.narrow(0, at_sent, received[r]), counts_[r]));
      }
      begin += counts_[r];
      at_sent += received[r];
    }
    return absl::OkStatus();
  }

  Communicator& group_;
  const SentNumbers numbers_;
  const RoundingKey key_;
  const at::Tensor tensor_;
  const std::string label_;
  std::vector<int64_t> counts_;  // by rank, the size of its slice
  at::Tensor shares_;            // this rank's slice as each rank sent it, by rank
  std::unique_ptr<Pending> pending_;
};

}  // namespace

int64_t SentBytes(SentNumbers numbers, int64_t count, int64_t bytes_of_scale) {
  switch (numbers) {
    case SentNumbers::kWhole:
      return count * bytes_of_scale;
    case SentNumbers::kBf16:
      return count * 2;
    case SentNumbers::kInt8:
      return count + count / kInt8Block * bytes_of_scale;
  }
  return 0;
}

std::unique_ptr<Pending> RoundedAllToAll(Communicator& group, SentNumbers numbers,
                                         const RoundingKey& key, at::Tensor output,
                                         std::vector<int64_t> output_counts, at::Tensor input,
                                         std::vector<int64_t> input_counts, std::string label) {
  return std::make_unique<AllToAll>(group, Rounding(numbers, key, input), std::move(output),
                                    std::move(output_counts), input, input_counts, label);
}

std::unique_ptr<Pending> RoundedAllReduce(Communicator& group, SentNumbers numbers,
                                          const RoundingKey& key, at::Tensor tensor,
                                          std::string label) {
  return std::make_unique<AllReduce>(group, numbers, key, std::move(tensor), std::move(label));
}

}  // namespace muster::trainer
