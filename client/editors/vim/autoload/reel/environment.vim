vim9script

# What the command `reel` finds around it.

# The entries of $PYTHONPATH that are absolute: the others would let `reel` run modules of the current directory.
export def PythonPath(): string
  return $PYTHONPATH->split(':')->filter((_, entry) => entry[0] == '/')->join(':')
enddef
