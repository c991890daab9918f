vim9script

# The daemon's socket: where it is, whether it is safe to connect to it, and who starts a daemon that listens on it.

import autoload './program.vim'
import autoload './words.vim'

# Opens a channel to the daemon; if none listens and one is to be started, starts it. Throws why there is no channel.
export def Open(options: dict<any>, start: bool): channel
  var [opened, flaw] = Try(options)
  if start && flaw =~ '^not_running: no daemon'
    Start(flaw)
    [opened, flaw] = Try(options)
  endif
  if flaw != ''
    throw $'reel: {flaw}'
  endif
  return opened
enddef

# Returns a channel and '', or a channel that is not open and why.
def Try(options: dict<any>): list<any>
  const path = Path()
  const flaw = Flaw(path)
  if flaw == ''
    try
      return [ch_open($'unix:{path}', options), '']
    catch /^Vim\%((\a\+)\)\=:E902/
    endtry
  endif
  return [null_channel, flaw ?? $'not_running: no daemon answers on {path}']
enddef

def Start(flaw: string)
  const command = program.Name()
  if !executable(command)
    throw $'reel: {flaw}, and there is no command {command} to start one: '
      .. 'install reel as its README says, or set g:reel_command'
  endif
  const said = program.Run('start --unless-stopped 2>&1')
  if v:shell_error != 0
    throw $'reel: {flaw}: {words.Plain(said ?? $'{command} start ended with status {v:shell_error}')}'
  endif
enddef

# Returns the path: $REEL_SOCKET, else the one in reeld.toml, else one in the runtime directory, else one in /tmp.
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

# Returns why it is not safe or not possible to connect to a socket; '' if nothing is wrong.
export def Flaw(path: string): string
  const directory = fnamemodify(path, ':h')
  const flaw = directory ==# Fallback() && getftype(directory) != '' ? DirectoryFlaw(directory) : ''
  if flaw != ''
    return flaw
  elseif getftype(path) == ''
    return $'not_running: no daemon answers on {path}'
  elseif !Test('[ -S "$1" ] && [ -O "$1" ]', path)
    return $'not_running: {path} is not a socket of your own; remove it, or set $REEL_SOCKET to another'
  endif
  return ''
enddef

# Returns what is wrong with a directory in /tmp, which anybody can make; '' if nothing is.
export def DirectoryFlaw(directory: string): string
  if getfperm(directory) ==# 'rwx------' && Test('[ -d "$1" ] && [ ! -L "$1" ] && [ -O "$1" ]', directory)
    return ''
  endif
  return $'not_running: {directory} is not a directory that only you can enter; remove it, or set $REEL_SOCKET'
enddef

# Returns the path that `reel socket` prints, or '' if there is no reeld.toml that could set one. The command runs once.
def FromFile(): string
  const home = $XDG_CONFIG_HOME != '' ? $XDG_CONFIG_HOME : $HOME .. '/.config'
  if !asked && filereadable(home .. '/reel/reeld.toml') && executable(program.Name())
    asked = true
    const output = program.Run('socket 2>/dev/null')
    configured = v:shell_error == 0 ? output : ''
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

# Runs a test of the shell on a path: Vim itself does not know who owns a file.
def Test(test: string, path: string): bool
  system($'sh -c {shellescape(test)} sh {shellescape(path)}')
  return v:shell_error == 0
enddef
