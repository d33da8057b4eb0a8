#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace outrider::base {

void fail_check(const char* file, int line, const char* condition, std::string_view what) {
  std::fprintf(stderr, "%s:%d: internal error: %s does not hold%s%.*s\n", file, line, condition,
               what.empty() ? "" : ": ", static_cast<int>(what.size()), what.data());
  std::abort();
}

}  // namespace outrider::base
