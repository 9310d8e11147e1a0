#ifndef MUSTER_TRAINER_ENGINE_LINK_SENT_NUMBERS_H_
#define MUSTER_TRAINER_ENGINE_LINK_SENT_NUMBERS_H_

namespace muster::trainer {

// The formats in which ranks send each other gradients or weights.
enum class SentNumbers {
  kWhole,  // as they are
  kBf16,
  kInt8,  // gradients only
};

struct CommunicationOptions {
  SentNumbers gradients = SentNumbers::kWhole;
  // Matters only to ranks that divide the weights.
  SentNumbers weights = SentNumbers::kWhole;
  bool operator==(const CommunicationOptions&) const = default;
};

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_ENGINE_LINK_SENT_NUMBERS_H_
