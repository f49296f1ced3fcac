#include "heatskin/base/files.h"

#include <csignal>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace heatskin {
namespace {

namespace fs = std::filesystem;

/// An empty folder that disappears with the test.
class Files : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "heatskin_files_XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::size_t entries() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }
  fs::path folder_;
};

std::string text(const std::vector<std::uint8_t>& bytes) {
  return {bytes.begin(), bytes.end()};
}

TEST_F(Files, WhatIsWrittenIsRead) {
  const fs::path path = folder_ / "näme with blanks.bin";
  ASSERT_TRUE(writeFileAtomically(path, std::string_view("first")));
  ASSERT_TRUE(writeFileAtomically(path, std::string_view("second, longer")));
  const auto bytes = readFile(path);
  ASSERT_TRUE(bytes);
  EXPECT_EQ(text(*bytes), "second, longer");
  EXPECT_EQ(entries(), 1u) << "no temporary file is left";
}

TEST_F(Files, PermissionsOfAnExistingFileAreKept) {
  const fs::path path = folder_ / "private";
  ASSERT_TRUE(writeFileAtomically(path, std::string_view("a")));
  fs::permissions(path, fs::perms::owner_read | fs::perms::owner_write);
  ASSERT_TRUE(writeFileAtomically(path, std::string_view("b")));
  EXPECT_EQ(fs::status(path).permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(Files, FailedWritesLeaveNothingBehind) {
  const Result<void> missing = writeFileAtomically(folder_ / "no" / "such" / "folder", std::string_view("x"));
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().kind, ErrorKind::kFailed);
  EXPECT_FALSE(writeFileAtomically(folder_, std::string_view("x"))) << "a folder is not a file";
  EXPECT_EQ(entries(), 0u);
}

TEST_F(Files, OnlyRegularFilesAreRead) {
  for (const fs::path& path : {folder_, fs::path("/dev/zero"), folder_ / "absent"}) {
    const auto bytes = readFile(path);
    ASSERT_FALSE(bytes) << path;
    EXPECT_EQ(bytes.error().kind, ErrorKind::kInput);
    EXPECT_NE(bytes.error().message.find(path.string()), std::string::npos);
  }
  const fs::path pipe = folder_ / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_FALSE(readFile(pipe)) << "and opening a pipe without a writer does not hang";
}

TEST_F(Files, TheLimitIsChecked) {
  const fs::path path = folder_ / "big";
  ASSERT_TRUE(writeFileAtomically(path, std::string_view("0123456789")));
  EXPECT_TRUE(readFile(path, 10));
  EXPECT_FALSE(readFile(path, 9));
}

TEST_F(Files, SpecialFilesAreWrittenInPlace) {
  ASSERT_TRUE(writeFileAtomically("/dev/null", std::string_view("gone")));
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

TEST_F(Files, SymbolicLinksAreFollowed) {
  fs::create_directory(folder_ / "there");
  fs::create_symlink("there/real", folder_ / "link");
  fs::create_symlink("link", folder_ / "link of a link");
  for (const char* content : {"first", "second"}) {
    ASSERT_TRUE(writeFileAtomically(folder_ / "link of a link", std::string_view(content)));
    EXPECT_TRUE(fs::is_symlink(folder_ / "link"));
    EXPECT_EQ(text(*readFile(folder_ / "there" / "real")), content);
  }
  fs::create_symlink("b", folder_ / "a");
  fs::create_symlink("a", folder_ / "b");
  EXPECT_FALSE(writeFileAtomically(folder_ / "a", std::string_view("x")));
  EXPECT_FALSE(checkWritable(folder_ / "a"));
}

TEST_F(Files, WriteProtectedFilesStay) {
  const fs::path path = folder_ / "mine";
  ASSERT_TRUE(writeFileAtomically(path, std::string_view("mine")));
  EXPECT_TRUE(checkWritable(path));
  fs::permissions(path, fs::perms::owner_read | fs::perms::group_read);
  EXPECT_FALSE(checkWritable(path)) << "also for root";
  EXPECT_FALSE(writeFileAtomically(path, std::string_view("yours")));
  EXPECT_EQ(text(*readFile(path)), "mine");
  EXPECT_EQ(entries(), 1u);
}

TEST_F(Files, TheLongestNameCanBeWritten) {
  const std::string longest(255, 'n');
  EXPECT_TRUE(checkWritable(folder_ / longest));
  EXPECT_EQ(entries(), 0u) << "looking leaves nothing";
  EXPECT_TRUE(writeFileAtomically(folder_ / longest, std::string_view("x")));
  const auto longer = checkWritable(folder_ / (longest + "n"));
  ASSERT_FALSE(longer);
  EXPECT_NE(longer.error().message.find("too long"), std::string::npos);
}

TEST_F(Files, AGroupIsWrittenWholeOrNotAtAll) {
  const std::vector<std::uint8_t> bytes = {1, 2, 3};
  const FileContent files[] = {
      {folder_ / "a", bytes}, {folder_ / "b", bytes}, {folder_ / "missing" / "c", bytes}};
  EXPECT_FALSE(writeFilesAtomically(files));
  EXPECT_EQ(entries(), 0u);
  EXPECT_TRUE(writeFilesAtomically(std::span(files).first(2)));
  EXPECT_EQ(entries(), 2u);
  EXPECT_EQ(*readFile(folder_ / "b"), bytes);
}

TEST_F(Files, MoreThanTheDiskHoldsIsRefused) {
  EXPECT_TRUE(checkFreeSpace(folder_ / "small", 1));
  EXPECT_FALSE(checkFreeSpace(folder_ / "large", std::size_t{1} << 60));
  EXPECT_EQ(entries(), 0u);
}

TEST_F(Files, TemporariesOfTheDeadAreRemovedAndOfTheLivingStay) {
  const fs::path path = folder_ / "out";
  fs::path temporary;
  const pid_t child = ::fork();
  if (child == 0) {
    // Endless bytes in one write: the parent sees the temporary file and kills.
    const std::vector<std::uint8_t> many(std::size_t{64} << 20, 7);
    while (true)
      static_cast<void>(writeFileAtomically(path, many));
  }
  ASSERT_GT(child, 0);
  while (temporary.empty()) {
    for (const auto& entry : fs::directory_iterator(folder_)) {
      if (entry.path().filename() != "out") temporary = entry.path();
    }
  }
  removeAbandonedTemporaries(path);  // the writer lives, so that this may not disturb it
  ::kill(child, SIGSTOP);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, WUNTRACED), child);
  temporary.clear();
  for (const auto& entry : fs::directory_iterator(folder_)) {
    if (entry.path().filename() != "out") temporary = entry.path();
  }
  removeAbandonedTemporaries(path);
  if (!temporary.empty()) {
    EXPECT_TRUE(fs::exists(temporary)) << "its writer is only asleep";
  }
  ::kill(child, SIGKILL);
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  removeAbandonedTemporaries(folder_ / "another output");
  if (!temporary.empty()) {
    EXPECT_TRUE(fs::exists(temporary)) << "it belongs to another output";
  }
  removeAbandonedTemporaries(path);
  EXPECT_FALSE(fs::exists(temporary));
  EXPECT_LE(entries(), 1u);
}

TEST_F(Files, ALockKeepsOthersOutUntilItsHolderIsGone) {
  const fs::path path = folder_ / "out";
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const auto lock = FileLock::acquire(path);
    const char answer = lock ? 'y' : 'n';
    static_cast<void>(!::write(ready[1], &answer, 1));
    ::pause();
    ::_exit(0);
  }
  char answer = 0;
  ASSERT_EQ(::read(ready[0], &answer, 1), 1);
  EXPECT_EQ(answer, 'y');
  {
    const auto refused = FileLock::acquire(path);
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message.find(std::to_string(child)), std::string::npos)
        << refused.error().message;
    EXPECT_TRUE(FileLock::acquire(folder_ / "other"));
  }
  ::kill(child, SIGKILL);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  {
    const auto mine = FileLock::acquire(path);
    EXPECT_TRUE(mine) << "the file of a dead process blocks nobody";
  }
  EXPECT_EQ(entries(), 0u);
  ::close(ready[0]);
  ::close(ready[1]);
}

}  // namespace
}  // namespace heatskin
