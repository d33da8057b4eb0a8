// A Result that nobody looks at hides a refusal.
#include "base/result.h"

namespace outrider {

base::Result<int> parse_count();

bool is_count() { return parse_count().ok(); }

#ifdef OUTRIDER_MISUSE
void forget() { parse_count(); }
#endif

}  // namespace outrider
