# cmake -DINPUT=file -DOUTPUT=file.inc -P EmbedBytes.cmake: the input's bytes as the inside of a C array initialiser.
file(READ ${INPUT} bytes HEX)
string(REGEX REPLACE "(................................)" "\\1\n" bytes "${bytes}")
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
file(WRITE ${OUTPUT} "${bytes}\n")
