#include "heatskin/training/checkpoint.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <string_view>
#include <type_traits>

#include <fmt/format.h>

// All of xxHash in this file: nothing to link, and the fastest variant for the machine it is compiled for.
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "heatskin/base/files.h"
#include "heatskin/base/result.h"

namespace heatskin {

/// Four numbers without padding.
template <>
struct Plain<GrowthStage> : std::bool_constant<sizeof(GrowthStage) == 4 * sizeof(double)> {};

namespace {

static_assert(std::endian::native == std::endian::little,
              "checkpoints are written as the machine stores numbers");

constexpr std::string_view kMagic = "HSKCKPT\n";
/// Changes with the file, and with whatever its numbers refer to (such as the order of the sample pool).
constexpr std::uint32_t kFormatVersion = 5;
constexpr std::size_t kSizeOffset = kMagic.size() + sizeof(std::uint32_t);
constexpr std::size_t kHeaderBytes = kSizeOffset + sizeof(std::uint64_t);
constexpr std::size_t kChecksumBytes = sizeof(std::uint64_t);

/// Visits the fields of a history as visitFields() does those of a state.
template <class History, class Visitor>
void visitHistory(History& history, Visitor&& visit) {
  visit("losses", history.losses);
  visit("step_seconds", history.step_seconds);
  visitPhases(history.profile, visit);
  visit("optimise_seconds", history.optimise_seconds);
  visit("samples", history.samples);
  visit("stages", history.stages);
}

/// Bytes of a value in the file.
template <class T>
constexpr std::size_t storedBytes() {
  if constexpr (std::is_same_v<T, SurfacePoint>) {
    return sizeof(std::uint32_t) + 3 * sizeof(double);
  } else {
    static_assert(Plain<T>::value, "this field needs a rule of its own: memory may have padding");
    return sizeof(T);
  }
}

class Writer {
 public:
  template <class T>
  void value(const T& v) {
    if constexpr (std::is_same_v<T, SurfacePoint>) {
      value(v.face);
      value(v.barycentric);
    } else {
      static_assert(Plain<T>::value);
      append(&v, sizeof(T));
    }
  }

  void text(std::string_view t) {
    value(static_cast<std::uint32_t>(t.size()));
    append(t.data(), t.size());
  }

  /// A named field: name, bytes per element, number of elements, elements.
  template <class T>
  void field(std::string_view name, const std::vector<T>& v) {
    field(name, std::span<const T>(v));
  }
  template <class T>
  void field(std::string_view name, std::span<const T> v) {
    text(name);
    value(static_cast<std::uint32_t>(storedBytes<T>()));
    value(static_cast<std::uint64_t>(v.size()));
    if constexpr (std::is_same_v<T, SurfacePoint>) {
      for (const T& element : v)
        value(element);
    } else {
      append(v.data(), v.size() * sizeof(T));
    }
  }
  void field(std::string_view name, const ChannelValues& v) {
    text(name);
    value(static_cast<std::uint32_t>(sizeof(float)));
    value(static_cast<std::uint64_t>(v.size()));
    append(v.data(), static_cast<std::size_t>(v.size()) * sizeof(float));
  }
  template <class T>
  void field(std::string_view name, const T& v) {
    text(name);
    value(static_cast<std::uint32_t>(storedBytes<T>()));
    value(std::uint64_t{1});
    value(v);
  }

  void append(const void* data, std::size_t size) {
    const std::size_t at = bytes_.size();
    bytes_.resize(at + size);
    if (size > 0) std::memcpy(bytes_.data() + at, data, size);
  }

  std::vector<std::uint8_t>& bytes() { return bytes_; }

 private:
  std::vector<std::uint8_t> bytes_;
};

/// Reads what a Writer wrote; after the first thing that does not fit, ok() is false and nothing changes.
class ByteReader {
 public:
  explicit ByteReader(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}

  bool ok() const { return ok_; }
  bool atEnd() const { return bytes_.empty(); }

  template <class T>
  void value(T& v) {
    if constexpr (std::is_same_v<T, SurfacePoint>) {
      value(v.face);
      value(v.barycentric);
    } else {
      static_assert(Plain<T>::value);
      take(&v, sizeof(T));
    }
  }

  void text(std::string& t) {
    std::uint32_t size = 0;
    value(size);
    if (!ok_ || size > bytes_.size()) return fail();
    t.resize(size);
    take(t.data(), size);
  }

  template <class T>
  void field(std::string_view name, std::vector<T>& v) {
    const std::uint64_t count = head(name, storedBytes<T>());
    if (!ok_ || count > bytes_.size() / storedBytes<T>()) return fail();
    v.resize(count);
    if constexpr (std::is_same_v<T, SurfacePoint>) {
      for (T& element : v)
        value(element);
    } else {
      take(v.data(), v.size() * sizeof(T));
    }
  }
  void field(std::string_view name, ChannelValues& v) {
    const std::uint64_t count = head(name, sizeof(float));
    if (!ok_ || count > kMaxChannels) return fail();
    v.resize(static_cast<Eigen::Index>(count));
    take(v.data(), count * sizeof(float));
  }
  template <class T>
  void field(std::string_view name, T& v) {
    if (head(name, storedBytes<T>()) != 1) return fail();
    value(v);
  }

 private:
  void fail() { ok_ = false; }

  std::uint64_t head(std::string_view name, std::size_t element_bytes) {
    std::string found;
    std::uint32_t size = 0;
    std::uint64_t count = 0;
    text(found);
    value(size);
    value(count);
    if (found != name || size != element_bytes) fail();
    return ok_ ? count : 0;
  }

  void take(void* to, std::size_t size) {
    if (!ok_ || size > bytes_.size()) return fail();
    if (size > 0) std::memcpy(to, bytes_.data(), size);
    bytes_ = bytes_.subspan(size);
  }

  std::span<const std::uint8_t> bytes_;
  bool ok_ = true;
};

std::uint64_t checksum(std::span<const std::uint8_t> bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

}  // namespace

InputHash inputHash(const Surface& surface, const FitTarget& target) {
  Fingerprint fingerprint;
  fingerprint.add(surface.positions());
  fingerprint.add(surface.faces());
  identifyLayout(target.layout(), fingerprint);
  target.identify(surface, fingerprint);
  return fingerprint.value();
}

std::vector<std::uint8_t> encodeCheckpoint(const Checkpoint& checkpoint) {
  return encodeCheckpoint(checkpoint, checkpoint.state, checkpoint.state.pool_errors);
}

std::vector<std::uint8_t> encodeCheckpoint(const Checkpoint& checkpoint, const TrainerState& state,
                                           std::span<const float> pool_errors) {
  Writer writer;
  constexpr std::size_t kPerKernel = 256, kPerStep = 16, kRest = std::size_t{1} << 16;
  writer.bytes().reserve(pool_errors.size() * sizeof(float) +
                         (state.kernels.size() + checkpoint.best.size()) * kPerKernel +
                         checkpoint.history.losses.size() * kPerStep + kRest);
  writer.append(kMagic.data(), kMagic.size());
  writer.value(kFormatVersion);
  writer.value(std::uint64_t{0});  // the size, when it is known
  writer.text(checkpoint.program);
  writer.text(checkpoint.config);
  writer.value(checkpoint.input);
  const auto field = [&](std::string_view name, const auto& v) { writer.field(name, v); };
  visitFields(state, [&](std::string_view name, const auto& v) {
    if (static_cast<const void*>(&v) == &state.pool_errors) {
      writer.field(name, pool_errors);
    } else {
      writer.field(name, v);
    }
  });
  visitKernels(checkpoint.best, field);
  visitHistory(checkpoint.history, field);
  std::vector<std::uint8_t>& bytes = writer.bytes();
  const std::uint64_t size = bytes.size() + kChecksumBytes;
  std::memcpy(bytes.data() + kSizeOffset, &size, sizeof(size));
  writer.value(checksum(bytes));
  return std::move(writer.bytes());
}

Result<Checkpoint> decodeCheckpoint(std::span<const std::uint8_t> bytes, const std::string& source) {
  const auto refuse = [&](std::string_view why) {
    return inputError(fmt::format("{}: {}", source, why), error_code::kDamagedCheckpoint);
  };
  const std::size_t known = std::min(bytes.size(), kMagic.size());
  if (bytes.empty() || std::memcmp(bytes.data(), kMagic.data(), known) != 0) {
    return refuse("is not a checkpoint of heatskin");
  }
  if (bytes.size() < kHeaderBytes + kChecksumBytes) return refuse("is a checkpoint that was cut short");
  std::uint32_t version = 0;
  std::uint64_t size = 0, stored = 0;
  std::memcpy(&version, bytes.data() + kMagic.size(), sizeof(version));
  std::memcpy(&size, bytes.data() + kSizeOffset, sizeof(size));
  if (version != kFormatVersion) {
    return refuse(fmt::format("has checkpoint format {}, this program reads {}", version, kFormatVersion));
  }
  if (size != bytes.size()) {
    return refuse(fmt::format("is a checkpoint of {} bytes, but {} bytes long", size, bytes.size()));
  }
  const auto content = bytes.first(bytes.size() - kChecksumBytes);
  std::memcpy(&stored, bytes.data() + content.size(), sizeof(stored));
  if (stored != checksum(content)) return refuse("is a damaged checkpoint (its checksum does not fit)");

  Checkpoint checkpoint;
  ByteReader reader(content.subspan(kHeaderBytes));
  reader.text(checkpoint.program);
  reader.text(checkpoint.config);
  reader.value(checkpoint.input);
  const auto field = [&](std::string_view name, auto& v) { reader.field(name, v); };
  visitFields(checkpoint.state, field);
  visitKernels(checkpoint.best, field);
  visitHistory(checkpoint.history, field);
  // The checksum fits, so it was written like this: by a program with other fields.
  if (!reader.ok() || !reader.atEnd()) return refuse("is a checkpoint of another version of heatskin");
  return checkpoint;
}

Result<Checkpoint> loadCheckpoint(const std::filesystem::path& path) {
  const auto bytes = readFile(path);
  if (!bytes) return bytes.error();
  return decodeCheckpoint(*bytes, displayPath(path));
}

}  // namespace heatskin
