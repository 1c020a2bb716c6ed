# Makes OUTPUT from the files of FOLDER: three functions of C++ strings. The modules become one script, each behind those
# that it imports from (a browser that opens a file from a disk imports none), so their imports go, and `export` too.
set(modules data.js people.js links.js fates.js place.js layers.js repeats.js folding.js colour.js graph.js table.js search.js overlays.js signatures.js marks.js reasons.js where.js elements.js details.js history.js
    measured.js lines.js answers.js summary.js svg.js about.js app.js)
set(script "")
foreach(module ${modules})
  file(READ ${FOLDER}/${module} text)
  string(REGEX REPLACE "(^|\n)import [^;]*;" "\\1" text "${text}")
  string(REGEX REPLACE "(^|\n)export " "\\1" text "${text}")
  # Nor does what is for who reads this go with every page: comments that have their own lines, and indents.
  string(REGEX REPLACE "\n *//[^\n]*" "" text "\n${text}")
  string(REGEX REPLACE "\n */[*][*][^\n]*[*]/" "" text "${text}")
  string(REGEX REPLACE "\n +" "\n" text "${text}")
  string(APPEND script "${text}")
endforeach()
file(READ ${FOLDER}/page.css style)
file(READ ${FOLDER}/page.html body)
set(result "")
foreach(part script style body)
  set(rest "${${part}}")
  string(APPEND result "static const llvm::StringLiteral ${part} = R\"origo(${rest})origo\";\n")
endforeach()
file(WRITE ${OUTPUT} "${result}")
