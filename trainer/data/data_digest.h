#ifndef MUSTER_TRAINER_DATA_DATA_DIGEST_H_
#define MUSTER_TRAINER_DATA_DATA_DIGEST_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "trainer/data/tokens.h"

namespace muster::trainer {

// Tells data sets apart: equal for ranks that train on the same data.
struct DataDigest {
  uint64_t tokens = 0;    // their number, those of validation included
  uint64_t sources = 0;   // Dataset.sources
  uint64_t contents = 0;  // of all tokens, or of a sample that the seed chooses
  bool operator==(const DataDigest&) const = default;
};

// Makes digests of one rank's data. A large data set is sampled at places chosen by a seed that is
// not known beforehand, so that no file can be made to look like another. Sampling reads data that
// is not needed otherwise, so the newest digest is remembered as long as the size and modification
// time of the token file do not change. Not thread-safe.
class DataDigester {
 public:
  // `file` holds the tokens; empty if they cannot change.
  DataDigester(std::string file, uint64_t sources, Tokens training, Tokens validation)
      : file_(std::move(file)),
        sources_(sources),
        training_(std::move(training)),
        validation_(std::move(validation)) {}

  // Returns the seed for which Digest() reads nothing, because its result is remembered; 0 without
  // a remembered digest.
  uint64_t remembered() const;
  // `seed` is not 0.
  DataDigest Digest(uint64_t seed);

 private:
  struct Stamp {
    int64_t size = 0;
    int64_t changed_ns = 0;
    bool operator==(const Stamp&) const = default;
  };
  std::optional<Stamp> ReadStamp() const;

  const std::string file_;
  const uint64_t sources_;
  const Tokens training_, validation_;
  uint64_t seed_ = 0;           // of digest_; 0: none
  std::optional<Stamp> stamp_;  // when it was made
  DataDigest digest_;
};

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_DATA_DATA_DIGEST_H_
