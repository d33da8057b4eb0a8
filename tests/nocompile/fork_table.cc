// Two sequences share blocks by fork(), which counts their holders; a plain copy would free them twice.
#include "cache/block_table.h"

namespace outrider {

cache::BlockTable fork(const cache::BlockTable& table) { return table.fork(16); }

#ifdef OUTRIDER_MISUSE
cache::BlockTable copy(const cache::BlockTable& table) { return table; }
#endif

}  // namespace outrider
