#include "heatskin/base/fingerprint.h"

#include <cstring>
#include <new>

// All of xxHash in this file: nothing to link, and the fastest variant for the machine it is compiled for.
#define XXH_INLINE_ALL
#include <xxhash.h>

namespace heatskin {

struct Fingerprint::State {
  State() : value(XXH3_createState()) {
    if (value == nullptr) throw std::bad_alloc();
    XXH3_128bits_reset(value);
  }
  ~State() { XXH3_freeState(value); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  XXH3_state_t* value;
};

Fingerprint::Fingerprint() : state_(std::make_unique<State>()) {}
Fingerprint::~Fingerprint() = default;

void Fingerprint::addBytes(std::uint64_t count, const void* data, std::size_t bytes) {
  XXH3_128bits_update(state_->value, &count, sizeof(count));
  XXH3_128bits_update(state_->value, data, bytes);
}

Fingerprint::Value Fingerprint::value() const {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(state_->value));
  Value value;
  std::memcpy(value.data(), canonical.digest, value.size());
  return value;
}

std::string hexadecimal(const Fingerprint& fingerprint) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const std::uint8_t byte : fingerprint.value()) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

}  // namespace heatskin
