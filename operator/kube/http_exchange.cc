#include "operator/kube/http_exchange.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"

namespace muster::kube {
namespace {

// Of one line, and of all lines of a head.
constexpr size_t kLongestLine = 16 << 10;
constexpr size_t kLongestHead = 128 << 10;

absl::string_view ToAbsl(std::string_view text) { return {text.data(), text.size()}; }

std::string_view Trimmed(std::string_view text) {
  const auto blank = [](char c) { return c == ' ' || c == '\t'; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

// What came and was not taken yet.
class Input {
 public:
  explicit Input(httplib::Stream& stream) : stream_(stream) {}

  // The next line without its end; good until the next call.
  bool Line(std::string_view& line) {
    while (true) {
      const auto* end =
          static_cast<const char*>(std::memchr(buffer_.data() + begin_, '\n', end_ - begin_));
      if (end != nullptr) {
        const size_t size = static_cast<size_t>(end - buffer_.data()) - begin_;
        line = {buffer_.data() + begin_, size};
        begin_ += size + 1;
        if (line.empty() || line.back() != '\r') return false;
        line.remove_suffix(1);
        return true;
      }
      std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
      end_ -= begin_;
      begin_ = 0;
      if (end_ == buffer_.size() || !Fill()) return false;
    }
  }

  // Some of the next `most` bytes, at least one; good until the next call. False: there are none.
  bool Take(uint64_t most, std::string_view& data) {
    if (begin_ == end_) {
      begin_ = end_ = 0;
      if (!Fill()) return false;
    }
    const size_t size = static_cast<size_t>(std::min<uint64_t>(most, end_ - begin_));
    data = {buffer_.data() + begin_, size};
    begin_ += size;
    return true;
  }

  bool empty() const { return begin_ == end_; }
  // The last time that nothing came, it was because the server had ended the connection in order.
  bool ended() const { return ended_; }

 private:
  bool Fill() {
    const ssize_t got = stream_.read(buffer_.data() + end_, buffer_.size() - end_);
    ended_ = got == 0;
    if (got <= 0) return false;
    end_ += static_cast<size_t>(got);
    return true;
  }

  httplib::Stream& stream_;
  std::array<char, kLongestLine> buffer_;
  size_t begin_ = 0;
  size_t end_ = 0;
  bool ended_ = false;
};

struct Head {
  bool chunked = false;
  std::optional<uint64_t> length;
};

// "HTTP/1.1 200 OK"
bool ReadStatus(std::string_view line, HttpAnswer& answer) {
  constexpr std::string_view kVersion = "HTTP/1.";
  const size_t at = kVersion.size();
  if (line.size() < at + 5 || line.substr(0, at) != kVersion || line[at + 1] != ' ') return false;
  if (line[at] != '0' && line[at] != '1') return false;
  if (line.size() > at + 5 && line[at + 5] != ' ') return false;
  answer.keeps_connection = line[at] == '1';
  int code = 0;
  for (const char digit : line.substr(at + 2, 3)) {
    if (digit < '0' || digit > '9') return false;
    code = code * 10 + (digit - '0');
  }
  answer.code = code;
  return code >= 100;
}

bool ReadHeader(std::string_view line, Head& head, HttpAnswer& answer) {
  const size_t colon = line.find(':');
  if (colon == std::string_view::npos || colon == 0) return false;
  const absl::string_view name = ToAbsl(line.substr(0, colon));
  const absl::string_view value = ToAbsl(Trimmed(line.substr(colon + 1)));
  if (absl::EqualsIgnoreCase(name, "Content-Length")) {
    uint64_t length = 0;
    const bool digits =
        std::all_of(value.begin(), value.end(), [](char c) { return c >= '0' && c <= '9'; });
    if (!digits || !absl::SimpleAtoi(value, &length)) return false;
    if (head.length.has_value() && *head.length != length) return false;
    head.length = length;
  } else if (absl::EqualsIgnoreCase(name, "Transfer-Encoding")) {
    if (!absl::EqualsIgnoreCase(value, "chunked")) return false;
    head.chunked = true;
  } else if (absl::EqualsIgnoreCase(name, "Connection")) {
    if (absl::EqualsIgnoreCase(value, "close")) answer.keeps_connection = false;
  } else if (absl::EqualsIgnoreCase(name, "Retry-After")) {
    answer.retry_after = std::string(value.data(), value.size());
  }
  return true;
}

bool ReadHead(Input& input, Head& head, HttpAnswer& answer) {
  std::string_view line;
  if (!input.Line(line) || !ReadStatus(line, answer)) {
    answer.code = 0;
    return false;
  }
  for (size_t size = 0; size <= kLongestHead; size += line.size() + 2) {
    if (!input.Line(line)) return false;
    if (line.empty()) return true;
    if (!ReadHeader(line, head, answer)) return false;
  }
  return false;
}

bool ReadBytes(Input& input, uint64_t length, HttpAnswer& answer) {
  std::string_view data;
  for (; length > 0; length -= data.size()) {
    if (!input.Take(length, data) || !answer.receive(data)) return false;
  }
  return true;
}

bool ReadChunkSize(std::string_view line, uint64_t& size) {
  line = line.substr(0, line.find(';'));  // extensions
  line = Trimmed(line);
  if (line.empty() || line.size() > 15) return false;
  size = 0;
  for (const char c : line) {
    const bool digit = c >= '0' && c <= '9';
    const char lower = static_cast<char>(c | 0x20);
    if (!digit && (lower < 'a' || lower > 'f')) return false;
    size = size * 16 + static_cast<uint64_t>(digit ? c - '0' : lower - 'a' + 10);
  }
  return true;
}

bool ReadChunks(Input& input, HttpAnswer& answer) {
  std::string_view line;
  while (true) {
    uint64_t size = 0;
    if (!input.Line(line) || !ReadChunkSize(line, size)) return false;
    if (size == 0) break;
    if (!ReadBytes(input, size, answer)) return false;
    if (!input.Line(line) || !line.empty()) return false;
  }
  // Trailers, which nobody reads.
  for (size_t all = 0; all <= kLongestHead; all += line.size() + 2) {
    if (!input.Line(line)) return false;
    if (line.empty()) return true;
  }
  return false;
}

bool ReadToTheEnd(Input& input, HttpAnswer& answer) {
  answer.keeps_connection = false;
  std::string_view data;
  while (input.Take(std::numeric_limits<uint64_t>::max(), data)) {
    if (!answer.receive(data)) return false;
  }
  return input.ended();
}

bool ReadBody(Input& input, const Head& head, HttpAnswer& answer) {
  if (answer.code == 204 || answer.code == 304) return true;
  if (head.chunked) return ReadChunks(input, answer);
  if (head.length.has_value()) return ReadBytes(input, *head.length, answer);
  return ReadToTheEnd(input, answer);
}

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
  if (!WriteAll(stream, request.head) || !WriteAll(stream, request.body)) return false;
  Input input(stream);
  Head head;
  do {
    head = {};
    if (!ReadHead(input, head, answer)) return false;
  } while (answer.code < 200);
  if (!ReadBody(input, head, answer)) return false;
  // Nothing was asked for that could come after it.
  if (!input.empty()) answer.keeps_connection = false;
  return true;
}

}  // namespace muster::kube
