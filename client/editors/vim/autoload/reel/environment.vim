vim9script

# The environment that the command `reel` is run with.

# Returns the absolute entries of $PYTHONPATH: the others let `reel` run modules of the current directory.
export def PythonPath(): string
  return $PYTHONPATH->split(':')->filter((_, entry) => entry[0] == '/')->join(':')
enddef
