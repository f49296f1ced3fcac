#pragma once

// A fingerprint of data: 128 bits of XXH3 over values in the order they were added.

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <type_traits>

#include "heatskin/base/vec.h"

namespace heatskin {

/// True for types whose memory is their value: numbers and arrays of them without padding.
template <class T>
struct Plain : std::bool_constant<std::is_arithmetic_v<T>> {};
template <class T, std::size_t N>
struct Plain<std::array<T, N>> : Plain<T> {};
template <class T, int Rows, int Columns>
struct Plain<Eigen::Matrix<T, Rows, Columns>> : std::bool_constant<Plain<T>::value && (Rows * Columns > 0)> {
};

/// See the head of the file. Throws std::bad_alloc if there is no memory for its few hundred bytes.
class Fingerprint {
 public:
  using Value = std::array<std::uint8_t, 16>;

  Fingerprint();
  ~Fingerprint();
  Fingerprint(const Fingerprint&) = delete;
  Fingerprint& operator=(const Fingerprint&) = delete;

  /// Adds the number of values, then the values.
  template <class T>
  void add(std::span<const T> values) {
    static_assert(Plain<T>::value);
    addBytes(values.size(), values.data(), values.size_bytes());
  }

  /// Of everything added so far.
  Value value() const;

 private:
  void addBytes(std::uint64_t count, const void* data, std::size_t bytes);

  struct State;
  std::unique_ptr<State> state_;
};

/// 32 digits.
std::string hexadecimal(const Fingerprint& fingerprint);

}  // namespace heatskin
