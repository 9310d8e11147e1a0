#include "operator/placement/label_map.h"

namespace muster::control {
namespace {

// Writes seven bits in each byte, the lowest first; the highest bit means that more follow.
void PutLength(size_t length, std::string& bytes) {
  for (; length >= 0x80; length >>= 7) bytes.push_back(static_cast<char>(length | 0x80));
  bytes.push_back(static_cast<char>(length));
}

size_t TakeLength(const char*& at) {
  size_t length = 0;
  for (int shift = 0;; shift += 7) {
    const auto byte = static_cast<unsigned char>(*at++);
    length |= static_cast<size_t>(byte & 0x7F) << shift;
    if (byte < 0x80) return length;
  }
}

std::map<std::string, std::string> ToMap(
    std::initializer_list<std::pair<std::string_view, std::string_view>> labels) {
  return {labels.begin(), labels.end()};
}

}  // namespace

LabelMap::LabelMap(const std::map<std::string, std::string>& labels) {
  std::string bytes;
  for (const auto& [key, value] : labels) {
    PutLength(key.size(), bytes);
    PutLength(value.size(), bytes);
    bytes += key;
    bytes += value;
  }
  if (bytes.empty()) return;
  const auto block = std::make_shared_for_overwrite<char[]>(bytes.size());
  std::memcpy(block.get(), bytes.data(), bytes.size());
  bytes_ = block;
  size_ = static_cast<uint32_t>(bytes.size());
}

LabelMap::LabelMap(std::initializer_list<std::pair<std::string_view, std::string_view>> labels)
    : LabelMap(ToMap(labels)) {}

void LabelMap::const_iterator::Read() {
  if (at_ == end_) {
    label_ = {};
    return;
  }
  const char* at = at_;
  const size_t key = TakeLength(at);
  const size_t value = TakeLength(at);
  label_ = {{at, key}, {at + key, value}};
  next_ = at + key + value;
}

LabelMap::const_iterator& LabelMap::const_iterator::operator++() {
  at_ = next_;
  Read();
  return *this;
}

LabelMap::const_iterator LabelMap::find(std::string_view key) const {
  const const_iterator none = end();
  for (const_iterator label = begin(); label != none; ++label) {
    if (label->first == key) return label;
  }
  return none;
}

size_t LabelMap::size() const { return static_cast<size_t>(std::distance(begin(), end())); }

}  // namespace muster::control
