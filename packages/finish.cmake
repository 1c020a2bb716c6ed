# Run by CPack when all is installed in folders that are about to become packages.
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC) # SOURCE_DATE_EPOCH, where it is set
foreach(component ${CPACK_COMPONENTS_ALL})
  string(TOUPPER ${component} upper)
  set(name ${CPACK_DEBIAN_${upper}_PACKAGE_NAME})
  set(root ${CPACK_TEMPORARY_DIRECTORY}/${component}/usr)
  configure_file(${CMAKE_CURRENT_LIST_DIR}/copyright ${root}/share/doc/${name}/copyright COPYONLY)
  file(WRITE ${root}/share/doc/${name}/changelog
"origo (${CPACK_PACKAGE_VERSION}) unstable; urgency=medium

  * See CHANGELOG.md in origo-doc.

 -- ${CPACK_PACKAGE_CONTACT}  ${date}
")
  file(GLOB pages ${root}/share/man/man1/*.1)
  execute_process(COMMAND gzip -9n ${pages} ${root}/share/doc/${name}/changelog COMMAND_ERROR_IS_FATAL ANY)
  # Debian has the text already.
  file(GLOB licence ${root}/share/doc/origo/LICENSE)
  if(licence)
    file(REMOVE ${licence})
    file(CREATE_LINK ../../common-licenses/Apache-2.0 ${licence} SYMBOLIC)
  endif()
endforeach()
# Steps of ONE's toolchain are onecc under other names.
file(GLOB steps RELATIVE ${CPACK_TEMPORARY_DIRECTORY}/tools/usr/bin ${CPACK_TEMPORARY_DIRECTORY}/tools/usr/bin/one-*)
foreach(step ${steps})
  file(CREATE_LINK onecc.1.gz ${CPACK_TEMPORARY_DIRECTORY}/tools/usr/share/man/man1/${step}.1.gz SYMBOLIC)
endforeach()
