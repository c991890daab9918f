vim9script

# Where the daemon's socket is, and whether it is safe to speak to who listens there.

import autoload './environment.vim'

# The path: $REEL_SOCKET, else the one that reeld.toml names, else one in the runtime directory, else one in /tmp.
export def Path(): string
  if $REEL_SOCKET != ''
    return $REEL_SOCKET
  elseif FromFile() != ''
    return configured
  elseif $XDG_RUNTIME_DIR != ''
    return $XDG_RUNTIME_DIR .. '/reel/reel.sock'
  endif
  return Fallback() .. '/reel.sock'
enddef

# Says what is wrong with a socket; '' where nothing is.
export def Flaw(path: string): string
  const directory = fnamemodify(path, ':h')
  const flaw = directory ==# Fallback() && getftype(directory) != '' ? DirectoryFlaw(directory) : ''
  if flaw != ''
    return flaw
  elseif getftype(path) == ''
    return $'not_running: no daemon answers on {path}'
  elseif !Holds('[ -S "$1" ] && [ -O "$1" ]', path)
    return $'not_running: {path} is not a socket of your own; remove it, or name another in $REEL_SOCKET'
  endif
  return ''
enddef

# Says what is wrong with a directory in /tmp, where anybody can have made it; '' where nothing is.
export def DirectoryFlaw(directory: string): string
  if getfperm(directory) ==# 'rwx------' && Holds('[ -d "$1" ] && [ ! -L "$1" ] && [ -O "$1" ]', directory)
    return ''
  endif
  return $'not_running: {directory} is not a directory of yours alone; remove it, or name a socket in $REEL_SOCKET'
enddef

# The path that `reel socket` prints if there is a reeld.toml, which may name one. The command runs once.
def FromFile(): string
  const home = $XDG_CONFIG_HOME != '' ? $XDG_CONFIG_HOME : $HOME .. '/.config'
  const command = get(g:, 'reel_command', 'reel')
  if !asked && filereadable(home .. '/reel/reeld.toml') && executable(command)
    asked = true
    const said = system($'env PYTHONPATH={shellescape(environment.PythonPath())} {shellescape(command)} socket 2>/dev/null')
    configured = v:shell_error == 0 ? trim(said) : ''
  endif
  return configured
enddef

var asked = false
var configured = ''

def Fallback(): string
  if user == ''
    user = trim(system('id -u'))
  endif
  return '/tmp/reel-' .. user
enddef

var user = ''

# Vim itself cannot tell whose a file is.
def Holds(test: string, path: string): bool
  system($'sh -c {shellescape(test)} sh {shellescape(path)}')
  return v:shell_error == 0
enddef
