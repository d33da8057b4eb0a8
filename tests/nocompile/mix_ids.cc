// A token's id, or any number, is not the id of a block.
#include "base/ids.h"
#include "cache/block_pool.h"

namespace outrider {

void release(cache::BlockPool& pool, base::BlockId block) { pool.release(block); }

#ifdef OUTRIDER_MISUSE
void release(cache::BlockPool& pool, base::TokenId token) { pool.release(token); }
#endif

}  // namespace outrider
