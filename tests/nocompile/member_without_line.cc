// A member that is missing in its struct's list of fields would have no flag, no print and no part in the
// fingerprint.
#include "base/fields.h"

namespace outrider {
struct Listed {
  int width = 1;
  int height = 1;
};
}  // namespace outrider

template <>
struct outrider::base::Fields<outrider::Listed> {
#ifdef OUTRIDER_MISUSE
  static constexpr std::tuple list = {field("width", &outrider::Listed::width, 0)};
#else
  static constexpr std::tuple list = {field("width", &outrider::Listed::width, 0),
                                      field("height", &outrider::Listed::height, 0)};
#endif
};
OUTRIDER_LISTS_EVERY_FIELD(outrider::Listed);
