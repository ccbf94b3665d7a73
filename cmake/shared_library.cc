// The shared library is all of the archive; a library of its own file has something to be compiled.
