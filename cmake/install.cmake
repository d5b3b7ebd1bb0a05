# `cmake --install`: the program, the public headers, the libraries, and the files for find_package(quern).
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(config_folder ${CMAKE_INSTALL_LIBDIR}/cmake/quern)

# quern_capability(LIBRARY NAME…): targets for users, quern::NAME, each with what LIBRARY links and no more.
set(capabilities "")
function(quern_capability library)
  foreach(name IN LISTS ARGN)
    add_library(quern_for_${name} INTERFACE)
    set_target_properties(quern_for_${name} PROPERTIES EXPORT_NAME ${name})
    target_link_libraries(quern_for_${name} INTERFACE ${library})
    list(APPEND capabilities quern_for_${name})
  endforeach()
  set(capabilities ${capabilities} PARENT_SCOPE)
endfunction()
quern_capability(quern_ops graph nearest aggregation)
quern_capability(quern_text text)
quern_capability(quern_tasks dedup ngrams words search quern)

install(TARGETS quern DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY include/quern DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(TARGETS ${capabilities} quern_base quern_device quern_primitives quern_io quern_text quern_ops quern_report quern_tasks
        EXPORT quern-targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT quern-targets NAMESPACE quern:: DESTINATION ${config_folder})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/quern-config-version.cmake COMPATIBILITY SameMajorVersion)
configure_file(cmake/quern-config.cmake ${CMAKE_BINARY_DIR}/quern-config.cmake @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/quern-config.cmake cmake/dependencies.cmake ${CMAKE_BINARY_DIR}/quern-config-version.cmake
        DESTINATION ${config_folder})
