// How `outrider inspect` shows what it found: as lines and as JSON.
#pragma once

#include <string>

#include "checkpoint/inspection.h"

namespace outrider::cli {

std::string inspection_text(const checkpoint::Inspection& found);
std::string inspection_json(const checkpoint::Inspection& found);  // one object, no newline

}  // namespace outrider::cli
