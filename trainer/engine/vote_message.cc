#include "trainer/engine/vote_message.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

#include "trainer/parallel/sum_tree.h"

namespace muster::trainer {
namespace {

constexpr size_t kHeader = 5;

double Sum(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

}  // namespace

std::vector<double> EncodeVote(const VoteShare& share, bool deterministic, int64_t micro_batches,
                               int64_t chunks) {
  std::vector<double> out(kHeader);
  out[3] = share.save ? 1.0 : 0.0;
  out[4] = share.stop ? 1.0 : 0.0;
  out[2] = Sum(share.valid_tokens);  // integers: exact in any order
  if (!deterministic) {
    out[0] = Sum(share.chunk_squares);
    out[1] = Sum(share.losses);
    return out;
  }
  out.resize(kHeader + static_cast<size_t>(micro_batches + chunks), 0.0);
  std::copy(share.losses.begin(), share.losses.end(),
            out.begin() + kHeader + share.first_micro_batch);
  std::copy(share.chunk_squares.begin(), share.chunk_squares.end(),
            out.begin() + kHeader + micro_batches + share.first_chunk);
  return out;
}

VoteTotals DecodeVote(std::span<const double> sum, bool deterministic, int64_t micro_batches,
                      int64_t chunks) {
  VoteTotals totals{.sum_of_squares = sum[0],
                    .loss_sum = sum[1],
                    .valid_tokens = sum[2],
                    .save_requests = sum[3],
                    .stop_requests = sum[4]};
  if (deterministic) {
    const auto m = static_cast<size_t>(micro_batches);
    totals.loss_sum = TreeSum(sum.subspan(kHeader, m));
    totals.sum_of_squares = TreeSum(sum.subspan(kHeader + m, static_cast<size_t>(chunks)));
  }
  return totals;
}

}  // namespace muster::trainer
