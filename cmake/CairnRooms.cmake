# cairn_room(NAME [LINK lib...] [WITHOUT regex]): the static library of one room. Every .cpp under the folder belongs
# to the room, so a new file needs no line here; which rooms may see which is held by a test.
function(cairn_room name)
  cmake_parse_arguments(ROOM "" "WITHOUT" "LINK" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/${name}/*.cpp")
  # What stands in for something that is built, or the other way round.
  if(ROOM_WITHOUT)
    list(FILTER sources EXCLUDE REGEX "${ROOM_WITHOUT}")
  endif()
  string(REPLACE "/" "_" target "cairn_${name}")
  add_library(${target} STATIC ${sources})
  target_include_directories(${target} PUBLIC "${CMAKE_CURRENT_SOURCE_DIR}"
                                              "${PROJECT_SOURCE_DIR}/include")
  target_link_libraries(${target} PUBLIC cairn_compiler fmt::fmt ${ROOM_LINK})
endfunction()
