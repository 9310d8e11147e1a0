#include "trainer/checkpoint/pieces.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace muster::trainer {
namespace {

constexpr size_t kDigits = 16;

std::optional<uint64_t> ParseChecksum(std::string_view digits) {
  uint64_t value = 0;
  for (const char digit : digits) {
    const bool decimal = digit >= '0' && digit <= '9';
    if (!decimal && !(digit >= 'a' && digit <= 'f')) return std::nullopt;
    value = value << 4 | static_cast<uint64_t>(decimal ? digit - '0' : digit - 'a' + 10);
  }
  return value;
}

}  // namespace

uint64_t PieceCount(uint64_t bytes, uint64_t piece_bytes) {
  if (piece_bytes == 0 || bytes == 0) return 1;
  return bytes / piece_bytes + (bytes % piece_bytes == 0 ? 0 : 1);
}

std::string FormatChecksums(std::span<const uint64_t> checksums) {
  std::string text;
  text.reserve(checksums.size() * kDigits);
  for (const uint64_t checksum : checksums) text += ToHex(checksum);
  return text;
}

std::optional<std::vector<uint64_t>> ParseChecksums(std::string_view text) {
  if (text.size() % kDigits != 0) return std::nullopt;
  std::vector<uint64_t> checksums;
  checksums.reserve(text.size() / kDigits);
  for (; !text.empty(); text.remove_prefix(kDigits)) {
    const std::optional<uint64_t> checksum = ParseChecksum(text.substr(0, kDigits));
    if (!checksum.has_value()) return std::nullopt;
    checksums.push_back(*checksum);
  }
  return checksums;
}

void PieceHasher::Update(std::string_view bytes) {
  while (!bytes.empty()) {
    if (!hasher_) hasher_.emplace();
    const uint64_t room = piece_bytes_ == 0 ? bytes.size() : piece_bytes_ - in_piece_;
    const std::string_view part = bytes.substr(0, room);
    hasher_->Update(part);
    in_piece_ += part.size();
    bytes.remove_prefix(part.size());
    if (in_piece_ == piece_bytes_) EndPiece();
  }
}

void PieceHasher::EndPiece() {
  checksums_.push_back(hasher_->value());
  hasher_.reset();
  in_piece_ = 0;
}

std::vector<uint64_t> PieceHasher::Finish() {
  if (hasher_) EndPiece();
  if (checksums_.empty()) checksums_.push_back(Hash64(""));
  return std::move(checksums_);
}

}  // namespace muster::trainer
