#ifndef MUSTER_OPERATOR_PLACEMENT_LABEL_MAP_H_
#define MUSTER_OPERATOR_PLACEMENT_LABEL_MAP_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace muster::control {

// An object's labels or annotations: an immutable map by key. A cluster has half a million labels,
// so all of an object's are one block of bytes, which copies share: less than half of what a
// std::map takes for the same. A lookup costs O(labels). Views into it live as long as any of the
// copies.
class LabelMap {
 public:
  struct Label {
    std::string_view first;   // key
    std::string_view second;  // value
  };

  class const_iterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = Label;
    using difference_type = std::ptrdiff_t;
    using pointer = const Label*;
    using reference = const Label&;

    reference operator*() const { return label_; }
    pointer operator->() const { return &label_; }
    const_iterator& operator++();
    friend bool operator==(const const_iterator& a, const const_iterator& b) {
      return a.at_ == b.at_;
    }

   private:
    friend class LabelMap;
    const_iterator(const char* at, const char* end) : at_(at), end_(end) { Read(); }
    void Read();

    const char* at_;
    const char* end_;
    const char* next_ = nullptr;
    Label label_;
  };

  LabelMap() = default;
  // Not explicit: a std::map is another spelling of the same labels.
  LabelMap(const std::map<std::string, std::string>& labels);  // NOLINT
  // The first of two labels with one key counts.
  LabelMap(std::initializer_list<std::pair<std::string_view, std::string_view>> labels);

  const_iterator begin() const { return {bytes_.get(), bytes_.get() + size_}; }
  const_iterator end() const { return {bytes_.get() + size_, bytes_.get() + size_}; }
  const_iterator find(std::string_view key) const;
  size_t count(std::string_view key) const { return find(key) == end() ? 0 : 1; }
  // Empty: there is no such label, or its value is empty.
  std::string_view Value(std::string_view key) const { return find(key)->second; }
  size_t size() const;
  bool empty() const { return size_ == 0; }

  friend bool operator==(const LabelMap& a, const LabelMap& b) { return a.bytes() == b.bytes(); }
  template <typename H>
  friend H AbslHashValue(H h, const LabelMap& labels) {
    return H::combine(std::move(h), labels.bytes());
  }

 private:
  std::string_view bytes() const { return {bytes_.get(), size_}; }

  // The lengths of key and value, then both, label by label. Sorted by key.
  std::shared_ptr<const char[]> bytes_;
  uint32_t size_ = 0;
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_PLACEMENT_LABEL_MAP_H_
