#include "heatskin/operators/preprocessing_cache.h"

#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/temporary_folder.h"
#include "support/tiny_surfaces.h"

namespace heatskin {
namespace {

namespace fs = std::filesystem;

std::vector<std::uint8_t> payloadOf(std::size_t size, std::uint8_t first) {
  std::vector<std::uint8_t> bytes(size);
  for (std::size_t i = 0; i < size; ++i)
    bytes[i] = static_cast<std::uint8_t>(first + 31 * i);
  return bytes;
}

const CacheKey kKey{"test", {1, 2}};

TEST(PreprocessingCache, FindsWhatWasStored) {
  const testing::TemporaryFolder folder;
  PreprocessingCache cache(folder.path() / "made" / "on demand");
  EXPECT_FALSE(cache.load(kKey));
  cache.store(kKey, payloadOf(1000, 1));
  EXPECT_EQ(cache.load(kKey), payloadOf(1000, 1));
  EXPECT_FALSE(cache.load({"test", {1, 3}}));
  EXPECT_FALSE(cache.load({"other", {1, 2}}));
  cache.store(kKey, payloadOf(10, 2));
  EXPECT_EQ(cache.load(kKey), payloadOf(10, 2));
  cache.store(kKey, {});
  EXPECT_EQ(cache.load(kKey), std::vector<std::uint8_t>());
  EXPECT_TRUE(cache.notices().empty());
}

TEST(PreprocessingCache, IgnoresAndReplacesDamagedFiles) {
  const testing::TemporaryFolder folder;
  PreprocessingCache cache(folder.path());
  const auto payload = payloadOf(300, 7);
  cache.store(kKey, payload);
  const std::string whole = folder.read(kKey.fileName());
  for (std::size_t length = 0; length < whole.size(); ++length) {
    folder.write(kKey.fileName(), std::string_view(whole).substr(0, length));
    ASSERT_FALSE(cache.load(kKey)) << "cut to " << length << " bytes";
  }
  folder.write(kKey.fileName(), whole + "x");
  EXPECT_FALSE(cache.load(kKey));
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
    folder.write(kKey.fileName(), damaged);
    ASSERT_FALSE(cache.load(kKey)) << "byte " << at;
  }
  cache.store(kKey, payload);
  EXPECT_EQ(cache.load(kKey), payload);
}

TEST(PreprocessingCache, AFileUnderAnotherNameIsNotTaken) {
  const testing::TemporaryFolder folder;
  PreprocessingCache cache(folder.path());
  cache.store(kKey, payloadOf(20, 1));
  const CacheKey other{"test", {5, 6}};
  fs::copy_file(folder.path() / kKey.fileName(), folder.path() / other.fileName());
  EXPECT_FALSE(cache.load(other));
}

TEST(PreprocessingCache, ADirectoryOrPipeInTheWayIsNoFile) {
  const testing::TemporaryFolder folder;
  PreprocessingCache cache(folder.path());
  fs::create_directory(folder.path() / kKey.fileName());
  EXPECT_FALSE(cache.load(kKey));
  cache.store(kKey, payloadOf(20, 1));
  cache.store(kKey, payloadOf(20, 1));
  EXPECT_EQ(cache.notices().size(), 1u) << "one notice, not one per attempt";
  const CacheKey pipe{"pipe", {1, 1}};
  ASSERT_EQ(::mkfifo((folder.path() / pipe.fileName()).c_str(), 0600), 0);
  EXPECT_FALSE(cache.load(pipe));
}

TEST(PreprocessingCache, WorksWithoutAFolderToWriteTo) {
  const testing::TemporaryFolder folder;
  const std::string file = folder.write("file", "not a folder");
  PreprocessingCache cache(fs::path(file) / "cache");
  cache.store(kKey, payloadOf(20, 1));
  cache.store(kKey, payloadOf(20, 1));
  EXPECT_FALSE(cache.load(kKey));
  ASSERT_EQ(cache.notices().size(), 1u);
  EXPECT_NE(cache.notices()[0].message.find("HEATSKIN_CACHE"), std::string::npos);

  PreprocessingCache none;
  none.store(kKey, payloadOf(20, 1));
  EXPECT_FALSE(none.load(kKey));
  EXPECT_TRUE(none.notices().empty());
}

TEST(PreprocessingCache, LeastRecentlyUsedMakesRoom) {
  const testing::TemporaryFolder folder;
  PreprocessingCache cache(folder.path(), 3500);
  const auto key = [](std::uint64_t i) { return CacheKey{"test", {0, i}}; };
  const auto setAge = [&](std::uint64_t i, int minutes) {
    fs::last_write_time(folder.path() / key(i).fileName(),
                        fs::file_time_type::clock::now() - std::chrono::minutes(minutes));
  };
  for (std::uint64_t i = 0; i < 3; ++i) {
    cache.store(key(i), payloadOf(1000, 1));
    setAge(i, 30 - static_cast<int>(i));
  }
  EXPECT_TRUE(cache.load(key(0))) << "and it is now the youngest";
  folder.write("foreign.txt", std::string(5000, 'x'));
  cache.store(key(3), payloadOf(1000, 1));
  EXPECT_TRUE(cache.load(key(0)));
  EXPECT_FALSE(cache.load(key(1)));
  EXPECT_TRUE(cache.load(key(2)));
  EXPECT_TRUE(cache.load(key(3)));
  EXPECT_TRUE(folder.names().contains("foreign.txt")) << "only our own files go";
  cache.store(key(4), payloadOf(4000, 1));
  EXPECT_FALSE(cache.load(key(4))) << "larger than the whole cache";
  EXPECT_TRUE(cache.load(key(3)));
}

TEST(PreprocessingCache, WritersAndReadersAtOnce) {
  const testing::TemporaryFolder folder;
  std::vector<std::thread> threads;
  std::array<int, 4> wrong{};
  for (std::size_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      PreprocessingCache cache(folder.path());
      for (int round = 0; round < 25; ++round) {
        cache.store(kKey, payloadOf(5000, static_cast<std::uint8_t>(t)));
        const auto found = cache.load(kKey);
        // One of the four payloads, whole.
        if (!found || *found != payloadOf(5000, (*found)[0]) || (*found)[0] > 3) ++wrong[t];
      }
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  EXPECT_EQ(wrong, (std::array<int, 4>{}));
  EXPECT_EQ(folder.names().size(), 1u) << "no temporary file is left";
}

TEST(PreprocessingCache, FolderFollowsTheEnvironment) {
  const auto folderWith = [](const char* own, const char* xdg, const char* home) {
    const auto set = [](const char* name, const char* value) {
      if (value == nullptr) {
        ::unsetenv(name);
      } else {
        ::setenv(name, value, 1);
      }
    };
    std::array<std::pair<const char*, std::optional<std::string>>, 3> saved = {
        {{"HEATSKIN_CACHE", {}}, {"XDG_CACHE_HOME", {}}, {"HOME", {}}}};
    for (auto& [name, value] : saved) {
      if (const char* now = std::getenv(name); now != nullptr) value = now;
    }
    set("HEATSKIN_CACHE", own);
    set("XDG_CACHE_HOME", xdg);
    set("HOME", home);
    const std::string folder = PreprocessingCache::fromEnvironment().folder().string();
    for (const auto& [name, value] : saved)
      set(name, value ? value->c_str() : nullptr);
    return folder;
  };
  EXPECT_EQ(folderWith("/a", "/b", "/c"), "/a");
  EXPECT_EQ(folderWith("off", "/b", "/c"), "");
  EXPECT_EQ(folderWith("", "/b", "/c"), "");
  EXPECT_EQ(folderWith(nullptr, "/b", "/c"), "/b/heatskin");
  EXPECT_EQ(folderWith(nullptr, "relative", "/c"), "/c/.cache/heatskin");
  EXPECT_EQ(folderWith(nullptr, nullptr, nullptr), "");
}

TEST(PreprocessingCache, ReaderRefusesWhatDoesNotFit) {
  CacheWriter writer;
  writer.put<std::uint32_t>(7);
  writer.putArray(std::vector<float>{1, 2, 3});
  CacheReader good(writer.bytes());
  EXPECT_EQ(good.get<std::uint32_t>(), 7u);
  EXPECT_EQ(good.getArray<float>(3), (std::vector<float>{1, 2, 3}));
  EXPECT_TRUE(good.finished());
  CacheReader wrong_length(writer.bytes());
  wrong_length.get<std::uint32_t>();
  EXPECT_TRUE(wrong_length.getArray<float>(std::size_t{1} << 60).empty());
  EXPECT_FALSE(wrong_length.ok());
  CacheReader too_short(writer.bytes().first(writer.bytes().size() - 1));
  too_short.get<std::uint32_t>();
  EXPECT_TRUE(too_short.getArray<float>(3).empty());
  EXPECT_FALSE(too_short.finished());
  CacheReader unread(writer.bytes());
  unread.get<std::uint32_t>();
  EXPECT_FALSE(unread.finished());
}

TEST(PreprocessingCache, HashSeesPositionsFacesAndFrames) {
  const auto digest = [](const Surface& surface) {
    ContentHash hash;
    hash.add(surface);
    return hash.digest();
  };
  const testing::Soup soup = testing::bumpySphere(1, 0.2, 1);
  testing::Soup moved = soup, turned = soup;
  moved.positions[3].x() += 1e-9;
  std::rotate(turned.faces[5].begin(), turned.faces[5].begin() + 1, turned.faces[5].end());
  const auto base = digest(testing::build(soup));
  EXPECT_EQ(base, digest(testing::build(soup)));
  EXPECT_NE(base, digest(testing::build(moved)));
  EXPECT_NE(base, digest(testing::build(turned)));
  EXPECT_NE(base, digest(testing::build(soup, true))) << "other frames";
}

}  // namespace
}  // namespace heatskin
