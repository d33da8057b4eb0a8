// Keeps a read of mapped bytes that no longer exist from ending the process: SIGBUS inside a guarded range
// maps zeros there and marks the range as harmed. For mapped_file.cc alone.
#pragma once

#include <cstddef>

namespace outrider::base {

// The range's place in the table, or -1 where the table is full: then the range is simply not guarded.
int guard_range(const std::byte* data, std::size_t size);
void release_range(int place);
bool range_was_harmed(int place);

}  // namespace outrider::base
