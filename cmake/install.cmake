# `cmake --install`: the program, the public headers, the libraries, and the files for find_package(quern).
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(config_folder ${CMAKE_INSTALL_LIBDIR}/cmake/quern)

# The one target for users: everything, through the tasks.
add_library(quern_all INTERFACE)
set_target_properties(quern_all PROPERTIES EXPORT_NAME quern)
target_link_libraries(quern_all INTERFACE quern_tasks)

install(TARGETS quern DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY include/quern DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(TARGETS quern_all quern_base quern_device quern_primitives quern_io quern_text quern_ops quern_report quern_tasks
        EXPORT quern-targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT quern-targets NAMESPACE quern:: DESTINATION ${config_folder})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/quern-config-version.cmake COMPATIBILITY SameMinorVersion)
configure_file(cmake/quern-config.cmake ${CMAKE_BINARY_DIR}/quern-config.cmake @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/quern-config.cmake cmake/dependencies.cmake ${CMAKE_BINARY_DIR}/quern-config-version.cmake
        DESTINATION ${config_folder})
