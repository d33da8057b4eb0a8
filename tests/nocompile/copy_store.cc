// A key-value store owns gigabytes: it is handed on by reference, never copied.
#include "cache/kv_store.h"

namespace outrider {

const cache::KvStore& share(const cache::KvStore& store) { return store; }

#ifdef OUTRIDER_MISUSE
cache::KvStore copy(const cache::KvStore& store) { return store; }
#endif

}  // namespace outrider
