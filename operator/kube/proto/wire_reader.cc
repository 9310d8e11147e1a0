#include "operator/kube/proto/wire_reader.h"

namespace muster::kube {
namespace {

// The low bits of a tag. Groups (3 and 4) are not used by any API server.
enum WireType : uint64_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

constexpr uint64_t kLargestNumber = (1u << 29) - 1;

}  // namespace

bool WireReader::Varint(uint64_t& value) {
  value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    if (position_ == text_.size()) return Fail(/*cut=*/true);
    const auto byte = static_cast<uint8_t>(text_[position_++]);
    value |= uint64_t{byte & 0x7fu} << shift;
    if (byte < 0x80) return true;
  }
  return Fail(/*cut=*/false);
}

bool WireReader::Fixed(int size, uint64_t& value) {
  if (text_.size() - position_ < static_cast<size_t>(size)) return Fail(/*cut=*/true);
  value = 0;
  for (int i = 0; i < size; ++i) {
    value |= uint64_t{static_cast<uint8_t>(text_[position_ + i])} << (8 * i);
  }
  position_ += size;
  return true;
}

bool WireReader::Take(size_t size, std::string_view& bytes) {
  if (text_.size() - position_ < size) return Fail(/*cut=*/true);
  bytes = text_.substr(position_, size);
  position_ += size;
  return true;
}

bool WireReader::NextHeader(WireField& field) {
  if (!ok_ || position_ == text_.size()) return false;
  const size_t start = position_;
  uint64_t tag = 0;
  bool read = Varint(tag);
  if (read && (tag >> 3 == 0 || tag >> 3 > kLargestNumber)) read = Fail(/*cut=*/false);
  if (read) {
    field = WireField{static_cast<uint32_t>(tag >> 3)};
    field.is_bytes = (tag & 7) == kBytes;
    switch (tag & 7) {
      case kVarint:
      case kBytes:
        read = Varint(field.integer);
        break;
      case kFixed64:
        read = Fixed(8, field.integer);
        break;
      case kFixed32:
        read = Fixed(4, field.integer);
        break;
      default:
        read = Fail(/*cut=*/false);
    }
  }
  if (!read) position_ = start;
  return read;
}

bool WireReader::Next(WireField& field) {
  if (!NextHeader(field)) return false;
  return !field.is_bytes || Take(field.integer, field.bytes);
}

}  // namespace muster::kube
