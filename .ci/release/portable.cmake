# Included after project() (CMAKE_PROJECT_pmhook_INCLUDE): what the programs use beside libc goes into them; cJSON, of which Debian
# has no static library, goes beside them.
set(CMAKE_FIND_LIBRARY_SUFFIXES .a .so)
set(CMAKE_INSTALL_RPATH $ORIGIN/../lib/pmhook)
set(CMAKE_LIBRARY_ARCHITECTURE ${CMAKE_SYSTEM_PROCESSOR}-linux-gnu)
set(PM_LIBSVM $ENV{PM_SYSROOT}/usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/libsvm.a -lc++ -lunwind CACHE STRING "libsvm and the C++ runtime it needs")
find_library(cjson cjson REQUIRED)
file(REAL_PATH ${cjson} cjson)
install(FILES ${cjson} DESTINATION lib/pmhook RENAME libcjson.so.1 COMPONENT pmhook)
include(${CMAKE_CURRENT_LIST_DIR}/package.cmake)
