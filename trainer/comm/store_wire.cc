#include "trainer/comm/store_wire.h"

#include "absl/strings/str_cat.h"
#include "base/secrets.h"

namespace muster::trainer {
namespace {

constexpr size_t kLengthBytes = 4;

template <typename Number>
void AppendNumber(std::string& out, Number value) {
  for (size_t i = 0; i < sizeof(value); ++i) out.push_back(static_cast<char>(value >> 8 * i));
}

uint32_t ReadLength(std::string_view in) {
  uint32_t value = 0;
  for (size_t i = 0; i < kLengthBytes; ++i) {
    value |= static_cast<uint32_t>(static_cast<uint8_t>(in[i])) << 8 * i;
  }
  return value;
}

}  // namespace

std::string Encode(const StoreRequest& request) {
  std::string out(1, static_cast<char>(request.operation));
  AppendNumber(out, static_cast<uint32_t>(request.key.size()));
  return out + request.key + request.value;
}

std::string Encode(const StoreAnswer& answer) {
  return std::string(1, answer.found ? 1 : 0) + answer.value;
}

std::optional<StoreRequest> DecodeStoreRequest(std::string_view message) {
  if (message.size() < 1 + kLengthBytes) return std::nullopt;
  const auto operation = static_cast<uint8_t>(message[0]);
  const uint32_t key = ReadLength(message.substr(1));
  const std::string_view rest = message.substr(1 + kLengthBytes);
  if (operation < 1 || operation > 3 || key > rest.size()) return std::nullopt;
  return StoreRequest{static_cast<StoreOperation>(operation), std::string(rest.substr(0, key)),
                      std::string(rest.substr(key))};
}

std::optional<StoreAnswer> DecodeStoreAnswer(std::string_view message) {
  if (message.empty()) return std::nullopt;
  return StoreAnswer{message[0] != 0, std::string(message.substr(1))};
}

StoreKeys DeriveStoreKeys(std::string_view secret, std::string_view server_nonce,
                          std::string_view client_nonce) {
  const auto derive = [&](std::string_view use) {
    std::string text(use);
    text.append(server_nonce).append(client_nonce);
    return HmacSha256(secret, text);
  };
  return {.client_proof = derive("client's proof"),
          .server_proof = derive("server's proof"),
          .to_server = derive("to server"),
          .to_client = derive("to client")};
}

std::string StoreSeal::SealOf(std::string_view message) {
  std::string text;
  AppendNumber(text, count_++);
  return HmacSha256(key_, text.append(message)).substr(0, kSealBytes);
}

std::string StoreSeal::Seal(std::string_view message) {
  std::string out;
  AppendNumber(out, static_cast<uint32_t>(message.size()));
  return out.append(message).append(SealOf(message));
}

absl::StatusOr<std::optional<std::string>> StoreSeal::Open(std::string_view& in) {
  if (in.size() < kLengthBytes) return std::optional<std::string>();
  const size_t length = ReadLength(in);
  if (length > kMaxStoreMessage) {
    return absl::InvalidArgumentError(absl::StrCat("a message of ", length, " bytes"));
  }
  if (in.size() < kLengthBytes + length + kSealBytes) return std::optional<std::string>();
  const std::string_view message = in.substr(kLengthBytes, length);
  if (!SecretsEqual(in.substr(kLengthBytes + length, kSealBytes), SealOf(message))) {
    return absl::DataLossError("a message was changed on the way");
  }
  in.remove_prefix(kLengthBytes + length + kSealBytes);
  return std::optional<std::string>(message);
}

}  // namespace muster::trainer
