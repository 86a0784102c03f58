# Language level, warnings and sanitizers, in one interface target that every room links.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

add_library(cairn_compiler INTERFACE)
target_compile_options(cairn_compiler INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor
                                                -Wno-psabi)
# GCC 12 sees overlaps in std::string that cannot be (GCC bug 105651).
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(cairn_compiler INTERFACE -Wno-restrict)
endif()
if(CAIRN_WARNINGS_AS_ERRORS)
  target_compile_options(cairn_compiler INTERFACE -Werror)
endif()
# The bits of a sum must not depend on the compiler's mood: no contraction outside explicit FMA.
target_compile_options(cairn_compiler INTERFACE -ffp-contract=off)
if(CAIRN_SANITIZE)
  target_compile_options(cairn_compiler INTERFACE -fsanitize=${CAIRN_SANITIZE}
                                                  -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(cairn_compiler INTERFACE -fsanitize=${CAIRN_SANITIZE})
  # GCC sees uninitialised values in the code that a sanitizer itself adds.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(cairn_compiler INTERFACE -Wno-maybe-uninitialized)
  endif()
endif()

find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
endif()
if(CAIRN_TIDY)
  find_program(CLANG_TIDY clang-tidy REQUIRED)
  set(CMAKE_CXX_CLANG_TIDY ${CLANG_TIDY})
endif()
