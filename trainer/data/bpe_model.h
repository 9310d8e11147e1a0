#ifndef MUSTER_TRAINER_DATA_BPE_MODEL_H_
#define MUSTER_TRAINER_DATA_BPE_MODEL_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace muster::trainer {

inline constexpr char kEndOfText[] = "<|endoftext|>";

// A token that is found in the text as it stands, before any other.
struct AddedToken {
  uint32_t id = 0;
  std::string content;
  bool special = true;
};

struct Merge {
  uint32_t left = 0;
  uint32_t right = 0;
  uint32_t merged = 0;
};

// A byte-level BPE vocabulary. Every one of the 256 bytes has a token.
struct BpeModel {
  // The bytes of each id; empty for an unused id and for added tokens.
  std::vector<std::string> tokens;
  std::vector<Merge> merges;  // in order of priority, the first to merge first
  std::vector<AddedToken> added;
  bool add_prefix_space = false;
  bool ignore_merges = false;  // a word that is a token is not built by merges
};

// Returns BPE without a merge: bytes as ids 0..255 and end-of-text as 256.
BpeModel ByteModel();

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_DATA_BPE_MODEL_H_
