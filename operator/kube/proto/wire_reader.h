#ifndef MUSTER_OPERATOR_KUBE_PROTO_WIRE_READER_H_
#define MUSTER_OPERATOR_KUBE_PROTO_WIRE_READER_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace muster::kube {

// One field of a Protocol Buffers message in wire format.
struct WireField {
  uint32_t number = 0;
  bool is_bytes = false;
  uint64_t integer = 0;    // a varint or fixed 32 or 64 bits; if is_bytes, the length
  std::string_view bytes;  // a string or message inside the reader's text
};

// Walks the fields of one message in untrusted bytes and skips unknown ones. The generated parsers
// would keep them, and most of what an API server sends is unknown here.
//
//   WireReader reader(message);
//   for (WireField field; reader.Next(field);) ...
//   if (!reader.ok()) ...  // the rest is cut or damaged
class WireReader {
 public:
  explicit WireReader(std::string_view text) : text_(text) {}

  // Returns false at the end and at the first damaged field.
  bool Next(WireField& field);
  // Reads a field's tag and its integer, or for bytes only their length: the bytes need not have
  // arrived. If it returns false, no input is consumed.
  bool NextHeader(WireField& field);
  bool Take(size_t size, std::string_view& bytes);

  bool ok() const { return ok_; }
  // Returns true if the last failure was for lack of bytes, not for malformed ones.
  bool cut() const { return cut_; }
  size_t position() const { return position_; }

 private:
  bool Varint(uint64_t& value);
  bool Fixed(int size, uint64_t& value);
  bool Fail(bool cut) {
    ok_ = false;
    cut_ = cut;
    return false;
  }

  std::string_view text_;
  size_t position_ = 0;
  bool ok_ = true;
  bool cut_ = false;
};

}  // namespace muster::kube

#endif  // MUSTER_OPERATOR_KUBE_PROTO_WIRE_READER_H_
