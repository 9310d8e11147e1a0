#ifndef MUSTER_TRAINER_DATA_BPE_TRAINER_H_
#define MUSTER_TRAINER_DATA_BPE_TRAINER_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "trainer/data/bpe_model.h"

namespace muster::trainer {

// Learns a byte-level BPE vocabulary of at most `vocabulary` ids, including end-of-text and the 256
// bytes. Numbers them like Hugging Face's trainer: end-of-text, bytes by stand-in, then merges, the
// most frequent pair first, among equals the one with the smaller ids. A pair must occur twice, so
// little text gives fewer ids. Reads only the first `max_bytes`. Pure: every rank that trains on
// the same documents gets the same model.
absl::StatusOr<BpeModel> TrainBpe(const std::vector<std::string_view>& documents,
                                  uint32_t vocabulary, uint64_t max_bytes = uint64_t{256} << 20);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_DATA_BPE_TRAINER_H_
