// Regions compiled for one instruction set. Per-file compiler flags would also compile the inline functions
// of shared headers for it, and a linker may keep that copy for everybody; a region opened after the last
// include cannot.
#pragma once

#define OUTRIDER_PRAGMA(text) _Pragma(#text)

#if defined(__clang__)
#define OUTRIDER_BEGIN_TARGET(isa) \
  OUTRIDER_PRAGMA(clang attribute push(__attribute__((target(isa))), apply_to = function))
#define OUTRIDER_END_TARGET _Pragma("clang attribute pop")
#define OUTRIDER_UNROLL  // clang unrolls loops of constant length by itself
#else
#define OUTRIDER_BEGIN_TARGET(isa) _Pragma("GCC push_options") OUTRIDER_PRAGMA(GCC target(isa))
#define OUTRIDER_END_TARGET _Pragma("GCC pop_options")
#define OUTRIDER_UNROLL _Pragma("GCC unroll 32")
#endif
