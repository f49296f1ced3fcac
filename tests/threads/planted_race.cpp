// Checks the checker: ThreadSanitizer must report the race of `planted_race race` and nothing in
// `planted_race clean`, which does the same work with one sum per block. Both loops have so few blocks and so
// little to do that they would hardly ever collide by chance.

#include <cstdio>
#include <cstring>
#include <numeric>
#include <vector>

#include "heatskin/base/parallel.h"

int main(int count, char** arguments) {
  const bool race = count == 2 && std::strcmp(arguments[1], "race") == 0;
  const std::vector<int> numbers(400, 1);
  heatskin::setThreadCount(2);
  int shared = 0;
  std::vector<int> own(4, 0);
  heatskin::parallelBlocks(numbers.size(), 100, [&](std::size_t block, std::size_t begin, std::size_t end) {
    int& sum = race ? shared : own[block];
    for (std::size_t i = begin; i < end; ++i)
      sum += numbers[i];
  });
  std::printf("%d\n", shared + std::accumulate(own.begin(), own.end(), 0));
  return 0;
}
