vim9script

# The command `reel`, which starts the daemon and knows its socket.

# Returns the command.
export def Name(): string
  return get(g:, 'reel_command', 'reel')
enddef

# Runs the command, and returns the last line that it prints; v:shell_error is its exit status.
export def Run(arguments: string): string
  const output = system($'env PYTHONPATH={shellescape(PythonPath())} {shellescape(Name())} {arguments}')
  return output->trim()->split("\n")->get(-1, '')
enddef

# Returns the absolute entries of $PYTHONPATH: the others let `reel` run modules of the current directory.
export def PythonPath(): string
  return $PYTHONPATH->split(':')->filter((_, entry) => entry[0] == '/')->join(':')
enddef
