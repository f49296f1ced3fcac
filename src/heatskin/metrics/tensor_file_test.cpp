#include "heatskin/metrics/tensor_file.h"

#include <cmath>
#include <filesystem>

#include <gtest/gtest.h>

#include "heatskin/metrics/test_tensors.h"

namespace heatskin {
namespace {

using testing::append;
using testing::Bytes;
using testing::floatBytes;
using testing::npy;
using testing::npz;
using testing::safetensors;
using testing::TensorMap;
using testing::zip;

const TensorMap kTwo = {{"a", {{2, 3}, {1, 2, 3, 4, 5, 6}}}, {"b.weight", {{4}, {-0.5f, 0, 1e-30f, 7e20f}}}};

/// The error of opening `bytes` and reading every array, or "fine".
std::string trouble(Bytes bytes) {
  const auto file = TensorFile::parse(std::move(bytes), "w.bin");
  if (!file) return file.error().message;
  for (const std::string& name : file->tensorNames()) {
    const auto tensor = file->read(name);
    if (!tensor) return tensor.error().message;
  }
  return "fine";
}

void expectTrouble(Bytes bytes, const std::string& part) {
  const std::string message = trouble(std::move(bytes));
  EXPECT_NE(message.find(part), std::string::npos) << message;
  EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  EXPECT_TRUE(message.starts_with("w.bin: ")) << message;
}

TEST(TensorFile, EveryFormatGivesTheSameArrays) {
  for (const Bytes& bytes : {safetensors(kTwo), npz(kTwo, false), npz(kTwo, true)}) {
    const auto file = TensorFile::parse(bytes, "w.bin");
    ASSERT_TRUE(file) << file.error().message;
    EXPECT_EQ(file->tensorNames(), (std::vector<std::string>{"a", "b.weight"}));
    for (const auto& [name, expected] : kTwo) {
      const auto tensor = file->read(name);
      ASSERT_TRUE(tensor) << tensor.error().message;
      EXPECT_EQ(tensor->shape, expected.shape);
      EXPECT_EQ(tensor->values, expected.values);
    }
    EXPECT_FALSE(file->read("c"));
  }
}

TEST(TensorFile, HalvesAndDoublesBecomeFloats) {
  Bytes half;
  // 1, -2, largest 65504, smallest normal 2^-14, smallest subnormal 2^-24, infinity, -0
  for (const int bits : {0x3c00, 0xc000, 0x7bff, 0x0400, 0x0001, 0x7c00, 0x8000})
    append(half, static_cast<std::uint16_t>(bits));
  const std::vector<float> half_values = {1, -2, 65504, 0x1p-14f, 0x1p-24f, INFINITY, -0.0f};
  Bytes bfloat;
  for (const int bits : {0x3f80, 0xc000, 0x4049})  // 1, -2, 3.140625
    append(bfloat, static_cast<std::uint16_t>(bits));
  Bytes wide;
  append(wide, 0.1);
  append(wide, 1e300);

  Bytes data = half;
  data.insert(data.end(), bfloat.begin(), bfloat.end());
  data.insert(data.end(), wide.begin(), wide.end());
  const Bytes bytes = safetensors(R"({"h":{"dtype":"F16","shape":[7],"data_offsets":[0,14]},
      "b":{"dtype":"BF16","shape":[3,1],"data_offsets":[14,20]},
      "n":{"dtype":"I64","shape":[2],"data_offsets":[20,36]},
      "d":{"dtype":"F64","shape":[2],"data_offsets":[20,36]}})",
                                  data);
  const auto file = TensorFile::parse(bytes, "w.bin");
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->read("h")->values, half_values);
  EXPECT_TRUE(std::signbit(file->read("h")->values[6]));
  EXPECT_EQ(file->read("b")->values, (std::vector<float>{1, -2, 3.140625f}));
  EXPECT_EQ(file->read("d")->values, (std::vector<float>{0.1f, INFINITY}));
  EXPECT_FALSE(file->contains("n"));  // integers are nobody's weights

  const auto archive = TensorFile::parse(
      zip({{"h.npy", npy("<f2", "(7,)", half)}, {"d.npy", npy("<f8", "(1, 2)", wide)}}, true), "w.bin");
  ASSERT_TRUE(archive);
  EXPECT_EQ(archive->read("h")->values, half_values);
  EXPECT_EQ(archive->read("d")->shape, (std::vector<std::size_t>{1, 2}));
}

TEST(TensorFile, AScalarHasNoSides) {
  const auto file = TensorFile::parse(zip({{"s.npy", npy("<f4", "()", floatBytes({3}))}}, false), "w.bin");
  EXPECT_EQ(file->read("s")->values, std::vector<float>{3});
}

TEST(TensorFile, EveryTruncationIsRefused) {
  for (const Bytes& whole : {safetensors(kTwo), npz(kTwo, false), npz(kTwo, true)}) {
    for (std::size_t length = 0; length < whole.size(); ++length)
      EXPECT_NE(trouble(Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length))), "fine")
          << length;
  }
}

TEST(TensorFile, NoFlippedByteDoesHarm) {
  // The sanitizers see a wild read; here: every one of these ends, and damaged npz data is noticed by its
  // checksum.
  for (const Bytes& whole : {safetensors(kTwo), npz(kTwo, false), npz(kTwo, true)}) {
    for (std::size_t i = 0; i < whole.size(); ++i) {
      for (const int flip : {0x01, 0x80, 0xff}) {
        Bytes bytes = whole;
        bytes[i] = static_cast<std::uint8_t>(bytes[i] ^ flip);
        const std::string message = trouble(bytes);
        EXPECT_EQ(message.find('\n'), std::string::npos);
      }
    }
  }
  Bytes damaged = npz(kTwo, false);
  damaged[30 + 5 + 4 + 128] ^= 1;  // behind the local header, the name, the extra field and the .npy header
  expectTrouble(damaged, "checksum");
}

TEST(TensorFile, ForgedSafetensorsHeaders) {
  const Bytes data = floatBytes({1, 2, 3, 4});
  expectTrouble(safetensors("[1]", data), "not a JSON object");
  expectTrouble(safetensors("{\"a\":", data), "not a JSON object");
  expectTrouble(safetensors("{}", data), "holds no array");
  expectTrouble(safetensors(R"({"a":5})", data), "no dtype");
  expectTrouble(safetensors(R"({"a":{"dtype":1,"shape":[4],"data_offsets":[0,16]}})", data), "dtype");
  expectTrouble(safetensors(R"({"a":{"dtype":"F32","shape":[-4],"data_offsets":[0,16]}})", data), "shape");
  expectTrouble(safetensors(R"({"a":{"dtype":"F32","shape":[4],"data_offsets":[0,20]}})", data),
                "beyond the end");
  expectTrouble(safetensors(R"({"a":{"dtype":"F32","shape":[4],"data_offsets":[16,0]}})", data),
                "beyond the end");
  expectTrouble(safetensors(R"({"a":{"dtype":"F32","shape":[5],"data_offsets":[0,16]}})", data),
                "does not match");
  expectTrouble(
      safetensors(R"({"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,16]}})", data),
      "does not match");
  expectTrouble(
      safetensors(R"({"a":{"dtype":"F32","shape":[4611686018427387908],"data_offsets":[0,16]}})", data),
      "does not match");
  expectTrouble(safetensors(std::string(900'000, '['), data), "not a JSON object");
  Bytes huge = safetensors("{}", data);
  huge[6] = 0xff;
  expectTrouble(huge, "cut short");
}

TEST(TensorFile, ForgedArchives) {
  const Bytes data = floatBytes({1, 2, 3, 4});
  const auto archive = [](const Bytes& content) { return zip({{"a.npy", content}}, true); };
  expectTrouble(archive(npy("<f4", "(4,)", data, "True")), "Fortran order");
  expectTrouble(archive(npy("<i4", "(4,)", data)), "not of type");
  expectTrouble(archive(npy(">f4", "(4,)", data)), "not of type");
  expectTrouble(archive(npy("<f4", "(5,)", data)), "does not match");
  expectTrouble(archive(npy("<f4", "(-4,)", data)), "cannot be read");
  expectTrouble(archive(npy("<f4", "(4", data)), "cannot be read");
  expectTrouble(archive(npy("<f4", "(99999999999999999999, 4)", data)), "cannot be read");
  expectTrouble(archive({1, 2, 3}), "not an .npy file");
  expectTrouble(zip({{"readme.txt", {1, 2, 3}}}, false), "holds no array");
  expectTrouble(zip({{"model/data.pkl", {1, 2, 3}}}, false), "PyTorch");
  expectTrouble({0x80, 2, 0, 0, 0, 0, 0, 0, 0}, "pickle");
  // A directory that promises a gigabyte from a few bytes.
  Bytes bomb = archive(npy("<f4", "(4,)", data));
  const std::size_t directory = bomb.size() - 22 - 46 - 5;
  const std::uint32_t promised = 0x3fffffff;
  std::memcpy(bomb.data() + directory + 24, &promised, 4);
  expectTrouble(bomb, "claims a size it cannot have");
}

TEST(TensorFile, MissingFilesAreNamed) {
  const auto file = TensorFile::open("/no/such/weights.safetensors");
  ASSERT_FALSE(file);
  EXPECT_NE(file.error().message.find("weights.safetensors"), std::string::npos);
}

}  // namespace
}  // namespace heatskin
