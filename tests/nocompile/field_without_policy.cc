// A setting of a role says what becomes of it in a drafter: inherit, override or own. There is no way to list
// one without.
#include "plan/settings.h"

namespace outrider::plan {

constexpr auto kListed = setting("model", &RoleSettings::model, Policy::Own);

#ifdef OUTRIDER_MISUSE
constexpr auto kForgotten = setting("model", &RoleSettings::model);
#endif

}  // namespace outrider::plan
