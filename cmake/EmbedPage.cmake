# Makes a C++ file with the report's page: cmake -DOUTPUT=Page.cpp
# -DPAGE=page.html -DSTYLE=style.css -DSCRIPTS=a.js|b.js -P EmbedPage.cmake
#
# @STYLE@ and @SCRIPT@ in the page are replaced by the files; at @DATA@ it is
# cut in two.
cmake_policy(VERSION 3.25)
file(READ "${PAGE}" page)
file(READ "${STYLE}" style)
set(script "")
string(REPLACE "|" ";" SCRIPTS "${SCRIPTS}")
foreach(file IN LISTS SCRIPTS)
  file(READ "${file}" text)
  # The licence stands in the page once.
  string(REGEX REPLACE "^// Part of [^\n]*\n// SPDX[^\n]*\n" "" text "${text}")
  string(APPEND script "${text}")
endforeach()
string(REPLACE "@STYLE@" "${style}" page "${page}")
string(REPLACE "@SCRIPT@" "${script}" page "${page}")
string(FIND "${page}" "@DATA@" cut)
if(cut EQUAL -1)
  message(FATAL_ERROR "${PAGE} has no @DATA@")
endif()
string(SUBSTRING "${page}" 0 ${cut} head)
math(EXPR cut "${cut} + 6")
string(SUBSTRING "${page}" ${cut} -1 tail)
file(WRITE "${OUTPUT}" "// Made by cmake/EmbedPage.cmake.
#include \"Page.h\"
const char shoal::kPageHead[] = R\"page(${head})page\";
const char shoal::kPageTail[] = R\"page(${tail})page\";
")
