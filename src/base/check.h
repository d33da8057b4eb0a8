// CHECK: "we are wrong". Always on; ends the process with file, line and condition. Never reachable by input:
// what comes from outside gets a Result (result.h).
#pragma once

#include <string_view>

namespace outrider::base {

[[noreturn]] void fail_check(const char* file, int line, const char* condition, std::string_view what);

}  // namespace outrider::base

#define OUTRIDER_CHECK(condition) \
  ((condition) ? void(0) : ::outrider::base::fail_check(__FILE__, __LINE__, #condition, {}))
#define OUTRIDER_CHECK_MSG(condition, what) \
  ((condition) ? void(0) : ::outrider::base::fail_check(__FILE__, __LINE__, #condition, what))

#ifdef NDEBUG
#define OUTRIDER_DCHECK(condition) void(0)
#else
#define OUTRIDER_DCHECK(condition) OUTRIDER_CHECK(condition)
#endif
