#include "heatskin/io/table_file.h"

#include <cmath>
#include <cstring>
#include <string>

#include <gtest/gtest.h>

#include "support/mutations.h"
#include "support/temporary_folder.h"

namespace heatskin {
namespace {

Result<Table> parseRows(std::string_view text) {
  return parseTable({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
}

/// An .npy file with the given header fields around `values`.
template <class T>
std::string npy(const std::string& descr, const std::string& order, const std::string& shape,
                const std::vector<T>& values, int version = 1) {
  const std::string header =
      "{'descr': '" + descr + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }\n";
  std::string file = "\x93NUMPY";
  file += static_cast<char>(version);
  file += '\0';
  const std::size_t length_bytes = version == 1 ? 2 : 4;
  for (std::size_t i = 0; i < length_bytes; ++i)
    file += static_cast<char>(header.size() >> (8 * i));
  file += header;
  file.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
  return file;
}

TEST(Table, ReadsLinesOfNumbers) {
  const auto table = parseRows("1,2.5,-3e-2\r\n 4 ,\t5,6\n");
  ASSERT_TRUE(table) << table.error().message;
  EXPECT_EQ(table->columns, 3u);
  EXPECT_EQ(table->rows(), 2u);
  EXPECT_EQ(table->values, (std::vector<double>{1, 2.5, -0.03, 4, 5, 6}));
  EXPECT_TRUE(table->header.empty());
  EXPECT_EQ(table->where(1), "line 2");
}

TEST(Table, ALineOfNamesMayComeFirst) {
  const auto table = parseRows("\xEF\xBB\xBFx, y,z\n1,2,3");
  ASSERT_TRUE(table) << table.error().message;
  EXPECT_EQ(table->header, (std::vector<std::string>{"x", "y", "z"}));
  EXPECT_EQ(table->rows(), 1u);
  EXPECT_EQ(table->where(0), "line 2");
}

TEST(Table, NothingIsATableWithoutRows) {
  for (const char* text : {"", "\n", "\n\n  \n", "x,y,z\n", "x,y,z"}) {
    const auto table = parseRows(text);
    ASSERT_TRUE(table) << text;
    EXPECT_EQ(table->rows(), 0u) << text;
  }
  EXPECT_EQ(parseRows("x,y,z\n")->columns, 3u);
}

TEST(Table, SaysWhichLineIsWrong) {
  const auto message = [](std::string_view text) {
    const auto table = parseRows(text);
    if (table) return std::string("accepted");
    EXPECT_EQ(table.error().kind, ErrorKind::kInput);
    return table.error().message;
  };
  EXPECT_EQ(message("1,2,3\n1,2\n"), "line 2: 2 columns, the lines before have 3");
  EXPECT_EQ(message("1,2,3\n1,nan,2\n"), "line 2: a number is not finite");
  EXPECT_EQ(message("1,2,3\n\n1,2,3\n"), "line 2 is empty");
  EXPECT_EQ(message("\n1,2,3\n"), "line 1 is empty");
  EXPECT_NE(message("1,2,3\nx,y,z\n").find("line 2"), std::string::npos);
  EXPECT_NE(message("x,y,z\n1,2,3,4\n").find("names 3 columns"), std::string::npos);
  for (const char* bad : {"1,2,3,", "1,,3", "1 2 3", "0x10,1,2", "1,2,3d", "1,2,1e999", "x,1,2", ","}) {
    EXPECT_NE(message(std::string("5,5,5\n") + bad).find("line 2"), std::string::npos) << bad;
    EXPECT_NE(message(bad), "accepted") << bad;
  }
}

TEST(Table, ReadsNumpyArrays) {
  const std::vector<double> expected = {1, 2, 3, 4, 5, 6};
  for (const std::string& file : {npy<float>("<f4", "False", "(2, 3)", {1, 2, 3, 4, 5, 6}),
                                  npy<double>("<f8", "False", "(2,3)", {1, 2, 3, 4, 5, 6}, 2),
                                  npy<std::int32_t>("<i4", "False", "(2, 3)", {1, 2, 3, 4, 5, 6}, 3),
                                  npy<std::int64_t>("<i8", "False", "(2, 3)", {1, 2, 3, 4, 5, 6}),
                                  npy<std::uint32_t>("<u4", "False", "(2, 3)", {1, 2, 3, 4, 5, 6}),
                                  npy<double>("<f8", "True", "(2, 3)", {1, 4, 2, 5, 3, 6})}) {
    const auto table = parseRows(file);
    ASSERT_TRUE(table) << table.error().message;
    EXPECT_EQ(table->columns, 3u);
    EXPECT_EQ(table->values, expected);
    EXPECT_EQ(table->where(1), "row 1");
  }
  EXPECT_EQ(parseRows(npy<double>("<f8", "False", "(0, 4)", {}))->rows(), 0u);
}

TEST(Table, RefusesOtherNumpyArrays) {
  const std::vector<double> six = {1, 2, 3, 4, 5, 6};
  for (const std::string& file :
       {npy<double>(">f8", "False", "(2, 3)", six), npy<double>("|O", "False", "(2, 3)", six),
        npy<double>("<f8", "Maybe", "(2, 3)", six), npy<double>("<f8", "False", "(6,)", six),
        npy<double>("<f8", "False", "(1, 2, 3)", six), npy<double>("<f8", "False", "(2, -3)", six),
        npy<double>("<f8", "False", "(3, 3)", six), npy<double>("<f8", "False", "(1, 3)", six),
        npy<double>("<f8", "False", "(6, 0)", six),
        npy<double>("<f8", "False", "(6148914691236517206, 3)", six),
        npy<double>("<f8", "False", "(2, 3)", {1, 2, 3, 4, 5, std::nan("")}), std::string("\x93NUMPY\1"),
        npy<double>("<f8", "False", "(2, 3)", six, 9)}) {
    EXPECT_FALSE(parseRows(file));
  }
}

TEST(Table, DamagedFilesNeverCrash) {
  testing::forEachMutation(npy<float>("<f4", "False", "(2, 3)", {1, 2, 3, 4, 5, 6}), 3000,
                           [](std::string_view file) { (void)parseRows(file); });
  testing::forEachMutation("x,y,z\n1,2,3\n4.5e3,-6,7\n", 3000, [](std::string_view file) {
    const auto table = parseRows(file);
    if (table) {
      for (const double value : table->values)
        ASSERT_TRUE(std::isfinite(value));
    }
  });
}

TEST(Table, WhatIsWrittenCanBeRead) {
  const std::vector<float> values = {0, 1, 0.1f, 1.0f / 3, 1e-20f, 123456.79f};
  const std::string csv = encodeCsv(values, 3);
  EXPECT_EQ(csv.substr(0, csv.find('\n')), "0,1,0.1");
  const auto npy_bytes = encodeNpy(values, 2);
  EXPECT_EQ((npy_bytes.size() - values.size() * 4) % 64, 0u);
  const auto a = parseRows(csv), b = parseTable(npy_bytes);
  ASSERT_TRUE(a) << a.error().message;
  ASSERT_TRUE(b) << b.error().message;
  EXPECT_EQ(a->columns, 3u);
  EXPECT_EQ(b->columns, 2u);
  for (std::size_t i = 0; i < values.size(); ++i) {
    EXPECT_EQ(static_cast<float>(a->values[i]), values[i]);
    EXPECT_EQ(static_cast<float>(b->values[i]), values[i]);
  }
  EXPECT_EQ(encodeCsv({}, 3), "");
  EXPECT_EQ(parseTable(encodeNpy({}, 3))->columns, 3u);
}

TEST(Table, FilesAreNamedInMessages) {
  testing::TemporaryFolder folder;
  const std::string path = folder.write("bad.csv", "1,2\n1\n");
  const auto table = readTable(path);
  ASSERT_FALSE(table);
  EXPECT_EQ(table.error().message, path + ": line 2: 1 column, the lines before have 2");
  EXPECT_FALSE(readTable(folder / "missing.csv"));
}

}  // namespace
}  // namespace heatskin
