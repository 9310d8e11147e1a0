#ifndef MUSTER_TRAINER_CHECKPOINT_PIECES_H_
#define MUSTER_TRAINER_CHECKPOINT_PIECES_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.h"

namespace muster::trainer {

// A run of bytes is checked by pieces of `piece_bytes` each, counted from its beginning; the last
// one may be shorter. A run that has no bytes is one empty piece. If piece_bytes is 0, any run is
// one piece.

// The pieces of new checkpoints. Their checksums take 16 digits of the manifest each: 74 MB for a
// model of 405 billion parameters with AdamW's state, 4.9 TB.
inline constexpr uint64_t kPieceBytes = uint64_t{1} << 20;
// Pieces that a manifest may have: a power of two between these.
inline constexpr uint64_t kLeastPieceBytes = uint64_t{4} << 10;
inline constexpr uint64_t kMostPieceBytes = uint64_t{1} << 30;

uint64_t PieceCount(uint64_t bytes, uint64_t piece_bytes);

// Checksums as a manifest has them: 16 lower-case hexadecimal digits each, without anything between
// them. Parsing returns nothing if the text is not of that form.
std::string FormatChecksums(std::span<const uint64_t> checksums);
std::optional<std::vector<uint64_t>> ParseChecksums(std::string_view text);

// Computes the XXH3 of each piece, 64 bits, over bytes that come in parts. Not thread-safe.
class PieceHasher {
 public:
  explicit PieceHasher(uint64_t piece_bytes) : piece_bytes_(piece_bytes) {}
  void Update(std::string_view bytes);
  // Returns the checksums of all pieces, in their order. Call once, at the end.
  std::vector<uint64_t> Finish();

 private:
  void EndPiece();

  const uint64_t piece_bytes_;
  uint64_t in_piece_ = 0;  // bytes of the piece that is not complete
  std::optional<Hasher64> hasher_;
  std::vector<uint64_t> checksums_;
};

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_CHECKPOINT_PIECES_H_
