# The warning set, as errors, in one place. Never -ffast-math: reassociation is written where it is wanted,
# and -ffp-contract=off keeps a compiler from fusing a multiply and an add that the reference does not fuse.
add_library(outrider_options INTERFACE)
target_compile_options(outrider_options INTERFACE
  -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wswitch -Werror -ffp-contract=off -fno-strict-aliasing)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # g++ 12 warns of overlapping copies in its own std::string operator+ (GCC bug 105651), and of std::optional members
  # as maybe uninitialised (80635).
  target_compile_options(outrider_options INTERFACE -Wno-restrict -Wno-maybe-uninitialized)
  # g++ only: a field without a default member initialiser is required in a designated initialiser.
  target_compile_options(outrider_options INTERFACE -Werror=missing-field-initializers)
else()
  target_compile_options(outrider_options INTERFACE -Wno-missing-field-initializers)
endif()
if(OUTRIDER_SANITIZE)
  # At -O1 g++ 12 takes a replaced operator new for the library's and its free() for a mismatch; the address sanitizer finds
  # true ones.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(outrider_options INTERFACE -Wno-mismatched-new-delete)
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # Instrumented code defeats this analysis: g++ 12 then warns of vectors inside std::variant.
    target_compile_options(outrider_options INTERFACE -Wno-maybe-uninitialized)
  endif()
  target_compile_options(outrider_options INTERFACE -fsanitize=${OUTRIDER_SANITIZE} -fno-sanitize-recover=all
    -fno-omit-frame-pointer)
  target_link_options(outrider_options INTERFACE -fsanitize=${OUTRIDER_SANITIZE})
endif()
if(OUTRIDER_FUZZ)
  target_compile_options(outrider_options INTERFACE -fsanitize=fuzzer-no-link)
endif()
target_include_directories(outrider_options INTERFACE ${CMAKE_SOURCE_DIR}/src)
