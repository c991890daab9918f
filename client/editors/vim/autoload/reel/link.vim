vim9script

# The connection to the daemon: one for the whole editor, opened again after a loss as long as the listener needs it.
#
# The channel has the mode 'nl', and each line is a message: in its JSON modes, Vim drops the part of a message that has
# arrived if the rest takes longer than a tenth of a second. Replies and pushes go into a queue, which one timer drains:
# if a channel's callback makes a call, Vim mixes up the replies.

import autoload './environment.vim'
import autoload './socket.vim'

const TIMEOUT = 30'000
const HELLO = {client: {name: 'vim', version: string(v:versionlong)}, protocol: {min: 1, max: 1}}
const FIRST_DELAY = 100
const LAST_DELAY = 5'000

var channel: channel = null_channel
var connections = 0
var requests = 0
# The callbacks for the replies to requests that do not block, by the number of the request.
var waiting: dict<func> = {}
var queue: list<list<any>> = []
var draining = false
var retrying = false
var listener: dict<func> = {push: (_, _) => null, settled: () => null, connect: () => null, needed: () => false}

# Sets the listener: OnPush(method, params) is called with each push, OnSettled() after each batch from the queue,
# OnConnect() when a connection was opened. IsNeeded() returns whether to open it again after a loss.
export def Listen(OnPush: func, OnSettled: func, OnConnect: func, IsNeeded: func)
  listener = {push: OnPush, settled: OnSettled, connect: OnConnect, needed: IsNeeded}
enddef

# Calls a method and returns its result; throws 'reel: name: what and where'.
export def Call(method: string, params: dict<any>): dict<any>
  const reply = Ask(method, params)
  if reply->has_key('error')
    throw 'reel: ' .. reply.error.message
  endif
  return reply.result
enddef

# Calls a method and returns the reply, with a result or an error. Starts the daemon if it is not running. Throws
# 'reel: name: what and where' if there is no reply. A call that was under way when the connection broke is repeated;
# a command has a key, so it is applied once.
export def Ask(method: string, params: dict<any>): dict<any>
  Connect(true)
  var reply = Exchange(method, params)
  if empty(reply) && !IsOpen()
    Connect(true)
    reply = Exchange(method, params)
  endif
  if empty(reply)
    throw $'reel: timeout: no answer to {method} from {socket.Path()}; it may have been applied; see: reel doctor'
  endif
  return reply
enddef

# As Call, for commands that write: each gets a key of its own.
export def Command(method: string, params: dict<any>): dict<any>
  return Call(method, params->extendnew({key: sha256($'{reltimestr(reltime())} {getpid()} {rand()}')[: 31]}))
enddef

# Calls a method without waiting. Done is called with the reply, a result or an error, from the queue. Without a
# connection, or if that is lost, it is never called: the listener hears of the next connection.
export def Send(method: string, params: dict<any>, Done: func = null_function)
  if IsOpen()
    waiting[string(Request(method, params))] = Done
  endif
enddef

# Sends a request, if there is a connection, and returns its number.
def Request(method: string, params: dict<any>): number
  requests += 1
  try
    ch_sendraw(channel, json_encode({id: requests, method: method, params: params}) .. "\n")
  catch /^Vim\%((\a\+)\)\=:E\%(63[01]\|906\)/ # it was lost just now; close_cb handles that
  endtry
  return requests
enddef

# Returns the number of the connection; no other has the same.
export def Number(): number
  return connections
enddef

export def IsOpen(): bool
  return channel != null_channel && ch_status(channel) == 'open'
enddef

# Opens a connection unless there is one; with start, starts the daemon if it is not running. Throws if that fails.
export def Connect(start: bool = false)
  if IsOpen()
    return
  endif
  var flaw = Open()
  if flaw =~ '^not_running: no daemon' && start
    Start(flaw)
    flaw = Open()
  endif
  if flaw != ''
    throw 'reel: ' .. flaw
  endif
  connections += 1
  waiting = {}
  Send('hello', HELLO, (reply) => {
    if reply->has_key('error')
      Complain(reply.error.message)
    endif
  })
  listener.connect()
enddef

def Open(): string
  const path = socket.Path()
  const flaw = socket.Flaw(path)
  if flaw != ''
    return flaw
  endif
  try
    channel = ch_open('unix:' .. path, {mode: 'nl', callback: Hear, close_cb: Lost})
  catch /^Vim\%((\a\+)\)\=:E902/
  endtry
  return IsOpen() ? '' : $'not_running: no daemon answers on {path}'
enddef

def Start(flaw: string)
  const command = get(g:, 'reel_command', 'reel')
  if !executable(command)
    throw $"reel: {flaw}, and there is no command {command} to start one: install reel as its README says, or set g:reel_command"
  endif
  const output = system($'env PYTHONPATH={shellescape(environment.PythonPath())} {shellescape(command)} start --unless-stopped 2>&1')
  if v:shell_error != 0
    const last = trim(output)->split("\n")->get(-1, $'{command} start ended with status {v:shell_error}')
    throw $'reel: {flaw}: {last->substitute('^reel: \([a-z_]\+: \)\=', '', '')}'
  endif
enddef

def Exchange(method: string, params: dict<any>): dict<any>
  const request = Request(method, params)
  const began = reltime()
  var left = TIMEOUT
  while left > 0
    const message = Decode(Line(left))
    if empty(message)
      break
    elseif message->get('id') == request
      return message
    endif
    Take(message)
    left = TIMEOUT - float2nr(reltimefloat(reltime(began)) * 1000)
  endwhile
  return {}
enddef

# Returns the next line, or '' if there is none within the timeout (in milliseconds) or the connection is lost.
def Line(timeout: number): string
  try
    return ch_read(channel, {timeout: timeout})
  catch /^Vim\%((\a\+)\)\=:E906/ # it was lost just now
  endtry
  return ''
enddef

# --- the queue

def Hear(_: channel, line: string)
  Take(Decode(line))
enddef

def Decode(line: string): dict<any>
  return line == '' ? {} : json_decode(line)
enddef

# Puts a push into the queue, or a reply that has a callback.
def Take(message: dict<any>)
  if message->has_key('method')
    Defer([null_function, message])
  elseif waiting->has_key(string(message->get('id')))
    Defer([waiting->remove(string(message.id)), message])
  endif
enddef

def Lost(_: channel)
  Retry(FIRST_DELAY)
enddef

def Defer(item: list<any>)
  queue->add(item)
  if !draining
    draining = true
    timer_start(0, (_) => Drain())
  endif
enddef

def Drain()
  const items = queue
  queue = []
  draining = false
  for [Done, message] in items
    Try(() => Deliver(Done, message))
  endfor
  Try(() => listener.settled())
enddef

def Deliver(Done: func, message: dict<any>)
  if message->has_key('method')
    listener.push(message.method, message.params)
  elseif Done != null_function
    Done(message)
  endif
enddef

# Calls a function and shows its error, so that the rest of the queue is handled all the same.
def Try(Do: func)
  try
    Do()
  catch
    Complain($'{v:exception}, at {v:throwpoint}')
  endtry
enddef

# --- coming back

def Retry(delay: number)
  if !retrying && listener.needed()
    retrying = true
    timer_start(delay, (_) => Reconnect(delay))
  endif
enddef

def Reconnect(delay: number)
  retrying = false
  if !listener.needed()
    return
  endif
  try
    Connect()
    if delay > FIRST_DELAY
      echomsg 'the daemon is back'
    endif
  catch /^reel: /
    if delay == FIRST_DELAY
      const gone = v:exception =~ '^reel: not_running: no daemon'
      Complain(gone ? 'the daemon went away; waiting for it to come back' : v:exception)
    endif
    Retry(min([delay * 2, LAST_DELAY]))
  endtry
enddef

# Shows an error in one line, without its name, which is for programs.
export def Complain(what: string)
  echohl ErrorMsg
  echomsg what->substitute('^\(reel: \)\=[a-z_]\+: ', '', '')->substitute('\n', ' ', 'g')
  echohl None
enddef
