#include "operator/kube/http/http_exchange.h"

#include <http_parser.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/string_view.h"

namespace muster::kube {
namespace {

constexpr size_t kRead = 16 << 10;
constexpr size_t kMaxWarnings = 16;

constexpr size_t kPiece = 16 << 10;
// zlib's largest window, plus 16 for gzip's header in place of zlib's.
constexpr int kGzipWindow = 15 + 16;

// Decodes one gzip stream that arrives in pieces of any size, holding a few kilobytes of it. The
// caller must bound the size of the output. Not thread-safe.
class Gunzip {
 public:
  Gunzip();
  ~Gunzip();
  Gunzip(const Gunzip&) = delete;
  Gunzip& operator=(const Gunzip&) = delete;

  // Passes decoded bytes to `take`, which returns false to end the decoding. Returns false then,
  // and if `bytes` are not a gzip stream or go on after its end.
  bool Feed(std::string_view bytes, absl::FunctionRef<bool(std::string_view)> take);
  // Returns true if the stream has ended with a correct checksum.
  bool ended() const { return ended_; }

 private:
  z_stream stream_{};
  bool usable_ = false;
  bool ended_ = false;
};

Gunzip::Gunzip() { usable_ = inflateInit2(&stream_, kGzipWindow) == Z_OK; }

Gunzip::~Gunzip() { inflateEnd(&stream_); }

bool Gunzip::Feed(std::string_view bytes, absl::FunctionRef<bool(std::string_view)> take) {
  std::array<char, kPiece> out;
  stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream_.avail_in = static_cast<uInt>(bytes.size());
  bool full = true;  // zlib may hold more output
  while (usable_ && (stream_.avail_in > 0 || full)) {
    if (ended_) return stream_.avail_in == 0;
    stream_.next_out = reinterpret_cast<Bytef*>(out.data());
    stream_.avail_out = static_cast<uInt>(out.size());
    const int result = inflate(&stream_, Z_NO_FLUSH);
    ended_ = result == Z_STREAM_END;
    // Z_BUF_ERROR means that there was nothing left to do.
    usable_ = ended_ || result == Z_OK || result == Z_BUF_ERROR;
    const size_t size = out.size() - stream_.avail_out;
    full = stream_.avail_out == 0;
    if (size > 0 && !take({out.data(), size})) return false;
    if (result == Z_BUF_ERROR) break;
  }
  return usable_;
}

bool IsControl(char c) { return c != '\t' && absl::ascii_iscntrl(static_cast<unsigned char>(c)); }

// Fills an answer from the parser's callbacks. A callback that returns non-zero ends the parsing.
class AnswerReader {
 public:
  explicit AnswerReader(HttpAnswer& answer) : answer_(answer) {
    http_parser_init(&parser_, HTTP_RESPONSE);
    parser_.data = this;
  }

  bool Read(httplib::Stream& stream) {
    std::array<char, kRead> buffer;
    while (true) {
      const ssize_t got = stream.read(buffer.data(), buffer.size());
      if (got < 0) return false;
      const auto size = static_cast<size_t>(got);
      const size_t taken = http_parser_execute(&parser_, &Calls(), buffer.data(), size);
      if (whole_) {
        // Bytes after the answer belong to no request, so the connection is not reused.
        if (taken < size) answer_.keeps_connection = false;
        return true;
      }
      if (HTTP_PARSER_ERRNO(&parser_) != HPE_OK || parser_.upgrade || size == 0) return false;
    }
  }

 private:
  static AnswerReader& Of(http_parser* parser) { return *static_cast<AnswerReader*>(parser->data); }

  static const http_parser_settings& Calls() {
    static const http_parser_settings calls = [] {
      http_parser_settings made;
      http_parser_settings_init(&made);
      made.on_message_begin = [](http_parser* parser) { return Of(parser).Begin(); };
      made.on_header_field = [](http_parser* parser, const char* text, size_t size) {
        return Of(parser).Name({text, size});
      };
      made.on_header_value = [](http_parser* parser, const char* text, size_t size) {
        return Of(parser).Value({text, size});
      };
      made.on_headers_complete = [](http_parser* parser) { return Of(parser).EndHead(); };
      made.on_body = [](http_parser* parser, const char* data, size_t size) {
        return Of(parser).Body({data, size}) ? 0 : 1;
      };
      made.on_message_complete = [](http_parser* parser) { return Of(parser).End(); };
      return made;
    }();
    return calls;
  }

  int Begin() {
    name_.clear();
    value_.clear();
    in_value_ = false;
    retry_after_.clear();
    encoding_.clear();
    warnings_.clear();
    gunzip_.reset();
    return 0;
  }

  // Names and values may arrive in pieces.
  int Name(std::string_view piece) {
    if (in_value_) EndHeader();
    name_.append(piece);
    return 0;
  }

  int Value(std::string_view piece) {
    in_value_ = true;
    // The parser rejects control characters only at the start of a piece.
    if (std::any_of(piece.begin(), piece.end(), IsControl)) return 1;
    value_.append(piece);
    return 0;
  }

  void EndHeader() {
    absl::StripAsciiWhitespace(&value_);
    if (absl::EqualsIgnoreCase(name_, "Retry-After")) retry_after_ = value_;
    if (absl::EqualsIgnoreCase(name_, "Content-Encoding")) encoding_ = value_;
    if (absl::EqualsIgnoreCase(name_, "Warning") && warnings_.size() < kMaxWarnings) {
      warnings_.push_back(value_);
    }
    name_.clear();
    value_.clear();
    in_value_ = false;
  }

  int EndHead() {
    EndHeader();
    const bool chunked = (parser_.flags & F_CHUNKED) != 0;
    if (parser_.status_code < 100) return -1;
    if (parser_.uses_transfer_encoding != 0 && !chunked) return -1;  // an unknown encoding
    if (absl::EqualsIgnoreCase(encoding_, "gzip")) {
      gunzip_.emplace();
    } else if (!encoding_.empty() && !absl::EqualsIgnoreCase(encoding_, "identity")) {
      return -1;  // an unknown encoding
    }
    answer_.code = static_cast<int>(parser_.status_code);
    answer_.retry_after = retry_after_;
    answer_.warnings = std::move(warnings_);
    return 0;
  }

  bool Body(std::string_view data) {
    in_body_ = true;
    if (gunzip_.has_value()) return gunzip_->Feed(data, answer_.receive);
    return answer_.receive(data);
  }

  int End() {
    if (parser_.status_code < 200) return 0;  // the answer is still to come
    if (gunzip_.has_value() && in_body_ && !gunzip_->ended()) return 1;
    whole_ = true;
    answer_.keeps_connection = http_should_keep_alive(&parser_) != 0;
    http_parser_pause(&parser_, 1);
    return 0;
  }

  HttpAnswer& answer_;
  http_parser parser_;
  std::string name_;  // of the current header
  std::string value_;
  bool in_value_ = false;
  std::string retry_after_;
  std::string encoding_;
  std::vector<std::string> warnings_;
  std::optional<Gunzip> gunzip_;
  bool in_body_ = false;
  bool whole_ = false;
};

bool WriteAll(httplib::Stream& stream, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t put = stream.write(bytes.data(), bytes.size());
    if (put <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(put));
  }
  return true;
}

}  // namespace

bool Exchange(httplib::Stream& stream, const HttpRequest& request, HttpAnswer& answer) {
  return WriteAll(stream, request.head) && WriteAll(stream, request.body) &&
         AnswerReader(answer).Read(stream);
}

}  // namespace muster::kube
