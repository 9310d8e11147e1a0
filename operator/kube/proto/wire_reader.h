#ifndef MUSTER_OPERATOR_KUBE_PROTO_WIRE_READER_H_
#define MUSTER_OPERATOR_KUBE_PROTO_WIRE_READER_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace muster::kube {

// One field of a Protocol Buffers message as it stands on the wire.
struct WireField {
  uint32_t number = 0;
  bool is_bytes = false;
  uint64_t integer = 0;    // a varint, or fixed 32 or 64 bits; for `is_bytes` the length
  std::string_view bytes;  // a string or message, of the reader's text
};

// Walks the fields of one message in untrusted bytes. The generated parsers keep what they do not
// know, which is most of what an API server sends; here it is passed over.
//
//   WireReader reader(message);
//   for (WireField field; reader.Next(field);) ...
//   if (!reader.ok()) ...  // what is left is no field: cut or damaged
class WireReader {
 public:
  explicit WireReader(std::string_view text) : text_(text) {}

  // False at the end and at the first damage.
  bool Next(WireField& field);
  // The field's tag and number, and of bytes only how many there are: they need not be here yet.
  // What it took is undone when it returns false.
  bool NextHeader(WireField& field);
  bool Take(size_t size, std::string_view& bytes);

  bool ok() const { return ok_; }
  // Whether false was for want of bytes, rather than for what stands there.
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
