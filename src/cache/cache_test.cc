#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "cache/block_pool.h"
#include "cache/block_table.h"
#include "cache/kv_store.h"

namespace outrider::cache {
namespace {

CachePlan small_plan() {
  return {.block_tokens = 4,
          .block_count = 6,
          .dtype = kernels::KvDtype::F32,
          .layers = {{.kv_heads = 2, .head_width = 3}}};
}

void write(KvStore& store, const BlockTable& table, std::int64_t position, float value) {
  const kernels::KvLayer layer = store.layer(0);
  const auto block = base::index_of(table.data()[position / 4]);
  for (int head = 0; head < 2; ++head) {
    for (int d = 0; d < 3; ++d) {
      const auto at = (block * 2 + head) * 4 * 3;
      static_cast<float*>(layer.keys)[at + key_element(layer, position % 4, d)] =
          value + static_cast<float>(d);
      static_cast<float*>(layer.values)[at + position % 4 * 3 + d] = -value;
    }
  }
}

TEST(BlockPool, HandsOutTheLowestFreeBlock) {
  BlockPool pool(3);
  const auto a = *pool.take(), b = *pool.take(), c = *pool.take();
  EXPECT_FALSE(pool.take().has_value());
  pool.release(c);
  pool.release(a);
  EXPECT_EQ(pool.take(), a);
  EXPECT_EQ(pool.free_count(), 1);
  pool.release(b);
}

TEST(BlockPoolDeathTest, ReleasingTwiceIsOurOwnBug) {
  BlockPool pool(1);
  const auto block = *pool.take();
  pool.release(block);
  EXPECT_DEATH(pool.release(block), "holder_count");
}

TEST(BlockTable, GivesRejectedPositionsBackAndRefusesWhenFull) {
  KvStore store(small_plan());
  BlockPool pool(6);
  BlockTable table(pool, 4);
  ASSERT_TRUE(table.reserve(0, 9, store));
  EXPECT_EQ(table.block_count(), 3);
  EXPECT_FALSE(table.reserve(9, 25, store));
  EXPECT_EQ(table.block_count(), 3);
  table.truncate(8);
  EXPECT_EQ(pool.free_count(), 4);
}

TEST(BlockTable, AForkSharesBlocksUntilOneOfThemWrites) {
  KvStore store(small_plan());
  BlockPool pool(6);
  BlockTable parent(pool, 4);
  ASSERT_TRUE(parent.reserve(0, 6, store));
  for (int p = 0; p < 6; ++p) write(store, parent, p, static_cast<float>(10 + p));
  BlockTable child = parent.fork(6);
  EXPECT_EQ(pool.free_count(), 4);
  const auto before = store.position_bytes(parent.data(), 5);
  ASSERT_TRUE(child.reserve(6, 7, store));
  EXPECT_EQ(pool.free_count(), 3);
  EXPECT_EQ(child.data()[0], parent.data()[0]);
  EXPECT_NE(child.data()[1], parent.data()[1]);
  EXPECT_EQ(store.position_bytes(child.data(), 5), before);
  write(store, child, 5, 99);
  EXPECT_EQ(store.position_bytes(parent.data(), 5), before);
}

// Random holds, forks and truncates against a count of holders kept by hand.
TEST(BlockTable, NeverLeaksOrDoublyFreesABlock) {
  std::mt19937 random(7);
  KvStore store({.block_tokens = 4,
                 .block_count = 40,
                 .dtype = kernels::KvDtype::Bf16,
                 .layers = {{.kv_heads = 1, .head_width = 1}}});
  BlockPool pool(40);
  {
    std::vector<BlockTable> tables;
    std::vector<std::int64_t> lengths;
    for (int round = 0; round < 3000; ++round) {
      const auto pick = tables.empty() ? 0 : random() % tables.size();
      if (tables.size() < 2 || random() % 5 == 0) {
        tables.emplace_back(pool, 4);
        lengths.push_back(0);
      } else if (random() % 4 == 0) {
        tables.push_back(tables[pick].fork(lengths[pick]));
        lengths.push_back(lengths[pick]);
      } else if (random() % 3 == 0) {
        lengths[pick] = static_cast<std::int64_t>(random() % static_cast<unsigned>(lengths[pick] + 1));
        tables[pick].truncate(lengths[pick]);
      } else if (tables[pick].reserve(lengths[pick], lengths[pick] + 5, store)) {
        lengths[pick] += 5;
      } else {
        tables.erase(tables.begin() + static_cast<std::ptrdiff_t>(pick));
        lengths.erase(lengths.begin() + static_cast<std::ptrdiff_t>(pick));
      }
      std::vector<int> holders(40);
      for (const BlockTable& table : tables) {
        for (std::int64_t i = 0; i < table.block_count(); ++i)
          ++holders[static_cast<std::size_t>(table.data()[i])];
      }
      for (int block = 0; block < 40; ++block) {
        ASSERT_EQ(pool.holder_count(base::BlockId{block}), holders[static_cast<std::size_t>(block)]);
      }
    }
  }
  EXPECT_EQ(pool.free_count(), 40);
}

}  // namespace
}  // namespace outrider::cache
