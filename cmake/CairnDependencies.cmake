# Every library we lean on; all are Debian packages (scripts/install-dependencies).
find_package(Threads REQUIRED)
find_package(OpenMP REQUIRED COMPONENTS CXX)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(yaml-cpp REQUIRED)
find_package(CLI11 REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(PCRE2 REQUIRED IMPORTED_TARGET libpcre2-8)
pkg_check_modules(UTF8PROC REQUIRED IMPORTED_TARGET libutf8proc)
pkg_check_modules(XXHASH REQUIRED IMPORTED_TARGET libxxhash)
pkg_check_modules(HWY REQUIRED IMPORTED_TARGET libhwy)
find_package(dnnl REQUIRED)

set(MPI_CXX_SKIP_MPICXX ON)
if(CAIRN_MPI STREQUAL "AUTO")
  find_package(MPI QUIET COMPONENTS CXX)
  # For this run of CMake; the cache keeps the word.
  set(CAIRN_MPI ${MPI_CXX_FOUND})
  message(STATUS "Cairn: built with MPI: ${MPI_CXX_FOUND}")
elseif(CAIRN_MPI)
  find_package(MPI REQUIRED COMPONENTS CXX)
endif()

# An option for what this version does not have yet. The program is built all the same, and answers by
# name when it is asked for it.
if(CAIRN_CUDA)
  message(WARNING "CAIRN_CUDA: this version of Cairn has no CUDA backend yet, so the program is built "
                  "without one: it trains and plans on the CPU.")
endif()
