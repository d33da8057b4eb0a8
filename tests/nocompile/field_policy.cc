// Every field of a role says what becomes of it in the drafter: there is no default to forget it by.
#include "plan/settings.h"

namespace outrider {

static_assert(plan::setting("seed", &plan::RoleSettings::seed, plan::Policy::Inherit).name == "seed");

#ifdef OUTRIDER_MISUSE
static_assert(plan::setting("seed", &plan::RoleSettings::seed).name == "seed");
#endif

}  // namespace outrider
