#include "security/tls_records.h"

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "security/hmac.h"

namespace gpucast::remote {
namespace {

constexpr std::uint8_t alert = 21;
constexpr std::uint8_t handshake = 22;
constexpr std::uint8_t application_data = 23;
constexpr std::size_t header_bytes = 5;
constexpr std::size_t type_bytes = 1;
using Header = std::array<std::uint8_t, header_bytes>;

// A KeyUpdate that asks for none in return (4.6.3).
constexpr std::array key_update = {std::byte{24}, std::byte{0}, std::byte{0}, std::byte{1},
                                   std::byte{0}};

void require_cipher(bool success) {
  if (success) return;
  ERR_clear_error();
  throw std::runtime_error("libcrypto fails at AES-GCM");
}

unsigned char* raw(std::byte* bytes) { return reinterpret_cast<unsigned char*>(bytes); }
const unsigned char* raw(const std::byte* bytes) {
  return reinterpret_cast<const unsigned char*>(bytes);
}

// HKDF-Expand-Label (7.1) without a context, of up to 32 bytes.
Digest expand_label(const Key& secret, std::string_view label, std::uint8_t bytes) {
  constexpr std::string_view prefix = "tls13 ";
  std::vector<std::uint8_t> info = {0, bytes,
                                    static_cast<std::uint8_t>(prefix.size() + label.size())};
  info.insert(info.end(), prefix.begin(), prefix.end());
  info.insert(info.end(), label.begin(), label.end());
  info.insert(info.end(), {0, 1});
  return hmac_sha256(secret.bytes(), info);
}

Header header_of(std::size_t sealed_bytes) {
  return {application_data, 3, 3, static_cast<std::uint8_t>(sealed_bytes >> 8),
          static_cast<std::uint8_t>(sealed_bytes)};
}

}  // namespace

// ---- the cipher ----

void RecordCipher::Free::operator()(evp_cipher_ctx_st* context) const {
  EVP_CIPHER_CTX_free(context);
}

RecordCipher::RecordCipher(const Key& traffic_secret, Does does)
    : does_(does), context_(EVP_CIPHER_CTX_new()) {
  require_cipher(context_ != nullptr);
  use(traffic_secret);
}

void RecordCipher::use(const Key& secret) {
  constexpr std::uint8_t key_bytes = 16;
  Digest key = expand_label(secret, "key", key_bytes);
  Digest iv = expand_label(secret, "iv", static_cast<std::uint8_t>(iv_.size()));
  const bool set = EVP_CipherInit_ex(context_.get(), EVP_aes_128_gcm(), nullptr, key.data(),
                                     nullptr, does_ == Does::seal ? 1 : 0) == 1;
  std::copy_n(iv.begin(), iv_.size(), iv_.begin());
  OPENSSL_cleanse(key.data(), key.size());
  OPENSSL_cleanse(iv.data(), iv.size());
  require_cipher(set);
  secret_ = secret;
  record_ = 0;
}

void RecordCipher::next_key() {
  Digest next = expand_label(secret_, "traffic upd", Key::size);
  use(Key(next));
  OPENSSL_cleanse(next.data(), next.size());
}

void RecordCipher::begin(std::span<const std::uint8_t> additional) {
  std::array<std::uint8_t, 12> nonce = iv_;
  for (std::size_t k = 0; k < sizeof record_; ++k)
    nonce[nonce.size() - 1 - k] ^= static_cast<std::uint8_t>(record_ >> (8 * k));
  ++record_;
  int done = 0;
  require_cipher(EVP_CipherInit_ex(context_.get(), nullptr, nullptr, nullptr, nonce.data(), -1) ==
                     1 &&
                 EVP_CipherUpdate(context_.get(), nullptr, &done, additional.data(),
                                  static_cast<int>(additional.size())) == 1);
}

void RecordCipher::pass(std::span<const std::byte> from, std::byte* into) {
  if (from.empty()) return;
  int done = 0;
  require_cipher(EVP_CipherUpdate(context_.get(), raw(into), &done, raw(from.data()),
                                  static_cast<int>(from.size())) == 1 &&
                 done == static_cast<int>(from.size()));
}

void RecordCipher::end(std::byte* tag) {
  int none = 0;
  require_cipher(EVP_CipherFinal_ex(context_.get(), raw(tag), &none) == 1 &&
                 EVP_CIPHER_CTX_ctrl(context_.get(), EVP_CTRL_AEAD_GET_TAG, tag_bytes, tag) == 1);
}

bool RecordCipher::end(std::span<const std::byte, 16> tag) {
  std::array<unsigned char, 16> expected{};
  std::ranges::copy(tag, reinterpret_cast<std::byte*>(expected.data()));
  std::array<unsigned char, 16> nothing{};
  int none = 0;
  require_cipher(
      EVP_CIPHER_CTX_ctrl(context_.get(), EVP_CTRL_AEAD_SET_TAG, tag_bytes, expected.data()) == 1);
  const bool right = EVP_CipherFinal_ex(context_.get(), nothing.data(), &none) == 1;
  if (!right) ERR_clear_error();
  return right;
}

// ---- writing ----

void RecordWriter::write(std::span<const std::byte> first, std::span<const std::byte> second,
                         ByteQueue& out) {
  while (!first.empty() || !second.empty()) {
    if (records_ >= most_records_) replace_key(out);
    const auto of_first = first.first(std::min(first.size(), tls_record_bytes));
    const auto of_second =
        second.first(std::min(second.size(), tls_record_bytes - of_first.size()));
    seal(application_data, of_first, of_second, out);
    first = first.subspan(of_first.size());
    second = second.subspan(of_second.size());
  }
}

void RecordWriter::seal(std::uint8_t type, std::span<const std::byte> first,
                        std::span<const std::byte> second, ByteQueue& out) {
  const std::size_t data = first.size() + second.size();
  const std::size_t sealed = data + type_bytes + RecordCipher::tag_bytes;
  const Header header = header_of(sealed);
  std::byte* to = out.room(header.size() + sealed).data();
  to = std::ranges::copy(std::as_bytes(std::span(header)), to).out;
  cipher_.begin(header);
  cipher_.pass(first, to);
  cipher_.pass(second, to + first.size());
  const std::byte kind{type};
  cipher_.pass({&kind, type_bytes}, to + data);
  cipher_.end(to + data + type_bytes);
  out.add(header.size() + sealed);
  ++records_;
}

void RecordWriter::replace_key(ByteQueue& out) {
  seal(handshake, key_update, {}, out);
  cipher_.next_key();
  records_ = 0;
}

// ---- reading ----

std::size_t RecordReader::read(std::span<std::byte> into, ByteQueue& in) {
  std::size_t total = 0;
  while (total < into.size()) {
    const auto rest = into.subspan(total);
    if (!kept_.empty()) {
      const auto part = kept_.content().first(std::min(kept_.content().size(), rest.size()));
      std::ranges::copy(part, rest.begin());
      kept_.drop(part.size());
      total += part.size();
    } else {
      std::size_t got = 0;
      if (!open(rest, in, got)) break;
      total += got;
    }
  }
  return total;
}

bool RecordReader::open(std::span<std::byte> into, ByteQueue& in, std::size_t& got) {
  const auto there = in.content();
  if (there.size() < header_bytes) return false;
  Header header{};
  std::memcpy(header.data(), there.data(), header.size());
  const std::size_t sealed = std::size_t{header[3]} << 8 | header[4];
  constexpr std::size_t around = type_bytes + RecordCipher::tag_bytes;
  if (header != header_of(sealed) || sealed < around || sealed > tls_record_bytes + around)
    throw TlsError("what came was changed on its way (TLS: it is no record)");
  if (there.size() - header_bytes < sealed) return false;
  const std::size_t data = sealed - around;
  const auto record = there.subspan(header_bytes, sealed);
  const bool fits = data <= into.size();
  std::byte* const to = fits ? into.data() : kept_.room(data).data();
  std::byte type{};
  cipher_.begin(header);
  cipher_.pass(record.first(data), to);
  cipher_.pass(record.subspan(data, type_bytes), &type);
  if (!cipher_.end(record.last<RecordCipher::tag_bytes>()))
    throw TlsError("what came was changed on its way (TLS: a record's tag)");
  in.drop(header_bytes + sealed);
  if (type == std::byte{handshake}) {
    take_handshake({to, data});
  } else if (type != std::byte{application_data}) {
    throw TlsError(type == std::byte{alert} ? "the other end closed the connection (TLS: an alert)"
                                            : "the other end sent no data (TLS)");
  } else if (fits) {
    got = data;
  } else {
    kept_.add(data);
  }
  return true;
}

void RecordReader::take_handshake(std::span<const std::byte> said) {
  if (!std::ranges::equal(said, key_update))
    throw TlsError("the other end asks for what is not done (TLS: a handshake)");
  cipher_.next_key();
}

}  // namespace gpucast::remote
