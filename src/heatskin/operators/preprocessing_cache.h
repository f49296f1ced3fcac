#pragma once

// Preprocessing kept on disk between runs, by content: a file is named after what it holds and a hash of
// everything that decided it. A file that is missing, cut short, damaged or of another version is as good as
// none; the next store() replaces it. Several processes may share the folder: files are put in place whole.

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "heatskin/base/result.h"
#include "heatskin/surface/surface.h"

namespace heatskin {

/// 128 bits of XXH3 over whatever was added, in order.
class ContentHash {
 public:
  ContentHash();
  ~ContentHash();
  ContentHash(const ContentHash&) = delete;
  ContentHash& operator=(const ContentHash&) = delete;

  void addBytes(std::span<const std::uint8_t> bytes);

  /// Numbers, and arrays of numbers without padding.
  template <class T>
  void add(const T& value) {
    static_assert(std::is_arithmetic_v<T>);
    addBytes({reinterpret_cast<const std::uint8_t*>(&value), sizeof(T)});
  }
  void add(std::string_view text) {
    add(text.size());
    addBytes({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
  }
  /// What the operators of a surface depend on: positions, faces, face frames.
  void add(const Surface& surface);

  std::array<std::uint64_t, 2> digest() const;

 private:
  void* state_;
};

/// Which file: `kind` is a short name of letters, digits and '-', such as "spectral".
struct CacheKey {
  std::string kind;
  std::array<std::uint64_t, 2> digest{};

  std::string fileName() const;
};

/// Numbers one after the other, arrays with their length before them.
class CacheWriter {
 public:
  template <class T>
  void put(T value) {
    static_assert(std::is_arithmetic_v<T>);
    append(&value, sizeof(T));
  }
  template <class T>
  void putArray(std::span<const T> values) {
    static_assert(std::is_arithmetic_v<T>);
    put<std::uint64_t>(values.size());
    append(values.data(), values.size_bytes());
  }
  template <class T>
  void putArray(const std::vector<T>& values) {
    putArray(std::span<const T>(values));
  }
  std::span<const std::uint8_t> bytes() const { return bytes_; }

 private:
  void append(const void* data, std::size_t size) {
    const auto* from = static_cast<const std::uint8_t*>(data);
    bytes_.insert(bytes_.end(), from, from + size);
  }
  std::vector<std::uint8_t> bytes_;
};

/// The way back. After anything did not fit, every read gives zeros and ok() is false.
class CacheReader {
 public:
  explicit CacheReader(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}

  template <class T>
  T get() {
    T value{};
    take(&value, sizeof(T));
    return value;
  }
  /// An array of exactly `expected` numbers; nothing is allocated for any other length.
  template <class T>
  std::vector<T> getArray(std::size_t expected) {
    if (get<std::uint64_t>() != expected || expected > bytes_.size() / sizeof(T)) ok_ = false;
    if (!ok_) return {};
    std::vector<T> values(expected);
    take(values.data(), expected * sizeof(T));
    return values;
  }
  bool ok() const { return ok_; }
  /// Everything fitted and nothing is left.
  bool finished() const { return ok_ && bytes_.empty(); }

 private:
  void take(void* to, std::size_t size) {
    if (size > bytes_.size()) ok_ = false;
    if (!ok_) return;
    if (size > 0) std::memcpy(to, bytes_.data(), size);
    bytes_ = bytes_.subspan(size);
  }
  std::span<const std::uint8_t> bytes_;
  bool ok_ = true;
};

/// The folder. Calls may come from one thread at a time; any number of processes may use one folder.
class PreprocessingCache {
 public:
  /// Total size of the files; the least recently used ones make room.
  static constexpr std::uint64_t kDefaultBytes = std::uint64_t{4} << 30;

  /// A cache that stores and finds nothing.
  PreprocessingCache() = default;
  /// `folder` is made when the first file is stored.
  explicit PreprocessingCache(std::filesystem::path folder, std::uint64_t max_bytes = kDefaultBytes);

  /// $HEATSKIN_CACHE if set ("off" or empty: no cache), else $XDG_CACHE_HOME/heatskin, else
  /// ~/.cache/heatskin; without a home, no cache. Relative paths of XDG_CACHE_HOME are ignored, as its
  /// specification asks.
  static PreprocessingCache fromEnvironment();

  bool enabled() const { return !folder_.empty(); }
  const std::filesystem::path& folder() const { return folder_; }

  /// The payload stored under the key, checked against its hash; nothing if there is none that is whole.
  std::optional<std::vector<std::uint8_t>> load(const CacheKey& key) const;

  /// Stores a payload. Whoever computed it can go on without: a failure becomes a notice, once.
  void store(const CacheKey& key, std::span<const std::uint8_t> payload);

  /// What the user should know.
  const std::vector<Notice>& notices() const { return notices_; }

 private:
  void makeRoom(std::uint64_t bytes) const;

  std::filesystem::path folder_;
  std::uint64_t max_bytes_ = kDefaultBytes;
  std::vector<Notice> notices_;
};

}  // namespace heatskin
