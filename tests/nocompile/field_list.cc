// A member that its struct's list of fields leaves out would have no flag, no JSON and no place in a
// comparison.
#include "base/fields.h"

namespace outrider {

struct Listed {
  std::int64_t seed;
#ifdef OUTRIDER_MISUSE
  std::int64_t forgotten;
#endif
};

}  // namespace outrider

template <>
struct outrider::base::Fields<outrider::Listed> {
  static constexpr std::tuple list = {field("seed", &Listed::seed, 0)};
};

OUTRIDER_LISTS_EVERY_FIELD(outrider::Listed);
