# Run by CPack when all is installed in folders that are about to become packages.
if(CPACK_PACKAGE_CONTACT STREQUAL nobody)
  message(FATAL_ERROR "Who answers for these packages? Configure with -DORIGO_MAINTAINER=\"Name <address>\"")
endif()
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
