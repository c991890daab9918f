vim9script

# The connection to the daemon: one for the whole editor, opened again after a loss as long as the listener needs it.
# What is repeated after a loss, and when, is the same in all editors; docs/editors.md has the rule.
#
# The channel has the mode 'nl', and each line is a message: in its JSON modes, Vim drops the part of a message that has
# arrived if the rest takes longer than a tenth of a second. Replies and pushes go into a queue, which a timer drains:
# if a channel's callback makes a call, Vim mixes up the replies.

import autoload './socket.vim'
import autoload './words.vim'

# All in milliseconds: for how long a reply is awaited, after how long Vim tries to come back, and for how long the
# queue is handled before keys are.
const TIMEOUT = 30'000
const FIRST_DELAY = 100
const LAST_DELAY = 2'000
const SLICE = 20
const HELLO = {client: {name: 'vim', version: string(v:versionlong)}, protocol: {min: 1, max: 1}}

var channel: channel = null_channel
# The number of the request `hello` as long as it is not answered, else 0.
var greeting = 0
var features: list<string> = []
var requests = 0
# The callbacks for the replies to requests that do not block, by the number of the request.
var waiting: dict<func> = {}
var queue: list<func> = []
var draining = false
var retrying = false
var delay = FIRST_DELAY
# Whether the user knows that the daemon went away.
var away = false
var listener: dict<func> = {push: (_, _) => null, connect: () => null, lost: (_) => null, needed: () => false}

# Sets the listener: OnPush(method, params) is called with each push, OnConnect() when a connection was opened,
# OnLoss(error) when one was lost and cannot be opened again at once. IsNeeded() returns whether to open it again.
export def Listen(OnPush: func, OnConnect: func, OnLoss: func, IsNeeded: func)
  listener = {push: OnPush, connect: OnConnect, lost: OnLoss, needed: IsNeeded}
enddef

# Returns whether the daemon has a feature.
export def Knows(feature: string): bool
  return features->index(feature) >= 0
enddef

export def IsOpen(): bool
  return channel != null_channel && ch_status(channel) == 'open'
enddef

# --- calls

# Calls a method and returns its result; throws 'reel: name: what and where'.
export def Call(method: string, params: dict<any>): dict<any>
  final reply = Ask(method, params)
  if reply->has_key('error')
    throw 'reel: ' .. reply.error.message
  endif
  return reply.result
enddef

# As Call, for commands that write: each gets a key of its own, with which it is applied once.
export def Command(method: string, params: dict<any>): dict<any>
  return Call(method, params->extendnew({key: sha256($'vim {reltimestr(reltime())} {getpid()} {rand()}')[: 31]}))
enddef

# Calls a method and returns the reply, with a result or an error. Starts the daemon if it is not running. Throws
# 'reel: name: what and where' if there is no reply; a command is sent once more before, with its key.
export def Ask(method: string, params: dict<any>): dict<any>
  const has_key = params->has_key('key')
  Connect(true)
  var reply = Exchange(method, params)
  if empty(reply) && has_key && !IsOpen()
    reply = Repeat(method, params)
  endif
  if empty(reply)
    const what = IsOpen() ? $'timeout: no answer to {method} from {socket.Path()}'
      : $'not_running: the daemon went away before it answered {method}'
    throw $'reel: {what}{has_key ? '; check whether it was applied' : ''}'
  endif
  return reply
enddef

def Repeat(method: string, params: dict<any>): dict<any>
  # Others may be starting the daemon again.
  for pause in [100, 200, 400, 800]
    if !IsOpen()
      execute $'sleep {pause}m'
      Reconnect()
    endif
  endfor
  try
    Connect(true)
  catch /^reel: / # why is less important than that the command may have been applied
    return {}
  endtry
  return Exchange(method, params)
enddef

# Sends a request and returns the reply; {} if the connection was lost, or nothing came in time.
def Exchange(method: string, params: dict<any>): dict<any>
  var request = Request(method, params)
  if request == 0 # the connection was lost before, and nothing was sent
    Connect(true)
    request = Request(method, params)
  endif
  return request == 0 ? {} : Await(request)
enddef

def Await(request: number): dict<any>
  const began = reltime()
  var left = TIMEOUT
  while left > 0
    final message = Next(left) # a const would be locked for all
    if empty(message) || message->get('id') == request
      return message
    endif
    Take(message)
    left = TIMEOUT - float2nr(reltimefloat(reltime(began)) * 1000)
  endwhile
  return {}
enddef

# Returns the next message; {} if there is none within the timeout (in milliseconds) or the connection is lost.
def Next(timeout: number): dict<any>
  try
    const line = ch_read(channel, {timeout: timeout})
    return line == '' ? {} : json_decode(line)
  catch /^Vim\%((\a\+)\)\=:E906/ # it was lost just now
  endtry
  return {}
enddef

# Calls a method without waiting. Done is called with the reply, a result or an error, from the queue. Without a
# connection, or if that is lost, it is never called: the listener hears of the next connection.
export def Send(method: string, params: dict<any>, Done: func = (_) => null)
  const request = IsOpen() ? Request(method, params) : 0
  if request > 0
    waiting[request] = Done
  endif
enddef

# Sends a request, and returns its number; 0 if the connection turns out to be lost.
def Request(method: string, params: dict<any>): number
  requests += 1
  try
    ch_sendraw(channel, json_encode({id: requests, method: method, params: params}) .. "\n")
  catch /^Vim\%((\a\+)\)\=:E\%(63[01]\|906\)/
    ch_close(channel)
    Retry()
    return 0
  endtry
  return requests
enddef

# --- connecting

# Opens a connection unless there is one. If the user waits, starts the daemon if it is not running, and returns when
# the daemon has answered; else it may answer later. Throws if that fails.
export def Connect(waits: bool = false)
  if !IsOpen()
    channel = socket.Open({mode: 'nl', callback: Hear, close_cb: Lost}, waits)
    [waiting, queue] = [{}, []]
    greeting = Request('hello', HELLO)
  endif
  if waits && greeting > 0
    final reply = Await(greeting)
    if empty(reply)
      throw $'reel: not_running: no daemon answers on {socket.Path()}'
    endif
    Greet(reply)
  endif
enddef

# Takes the reply to `hello`. Throws if the daemon refuses it.
def Greet(reply: dict<any>)
  greeting = 0
  if reply->has_key('error')
    ch_close(channel)
    throw $'reel: {reply.error.message}'
  endif
  features = reply.result->get('features', [])
  [delay, away] = [FIRST_DELAY, false]
  listener.connect()
enddef

def Lost(lost: channel)
  if lost == channel
    Retry()
  endif
enddef

def Retry()
  if !retrying && listener.needed()
    retrying = true
    timer_start(delay, (_) => {
      retrying = false
      if !IsOpen() && listener.needed() && !Reconnect()
        Retry()
      endif
    })
    delay = min([delay * 2, LAST_DELAY])
  endif
enddef

# Tries to connect, without starting the daemon, and returns whether that succeeded.
def Reconnect(): bool
  try
    Connect()
  catch /^reel: /
    if !away
      const gone = v:exception =~ '^reel: not_running: no daemon'
      listener.lost(gone ? 'not_running: the daemon went away; waiting for it to come back' : v:exception)
    endif
    away = true
  endtry
  return IsOpen()
enddef

# --- the queue

def Hear(from: channel, line: string)
  if from == channel
    Take(json_decode(line))
  endif
enddef

# Puts the handling of a push into the queue, or of a reply that has a callback.
def Take(message: dict<any>)
  if message->has_key('method')
    Defer(() => listener.push(message.method, message.params))
  elseif greeting > 0 && message->get('id') == greeting
    Return(message)
  elseif waiting->has_key(message->get('id'))
    const Done = waiting->remove(message.id)
    Defer(() => Done(message))
  endif
enddef

# Takes the reply to `hello` after a loss.
def Return(reply: dict<any>)
  const was_away = away
  try
    Greet(reply)
  catch /^reel: /
    words.Complain(v:exception)
    return
  endtry
  if was_away
    redraw
    echomsg 'the daemon is back'
  endif
enddef

def Defer(Do: func)
  queue->add(Do)
  if !draining
    draining = true
    timer_start(0, (_) => Drain())
  endif
enddef

def Drain()
  const began = reltime()
  try
    while !empty(queue) && reltimefloat(reltime(began)) * 1000 < SLICE
      const Do = queue->remove(0)
      Do()
    endwhile
  catch # the rest is handled all the same
    words.Complain(v:exception =~ '^reel: ' ? v:exception : $'{v:exception}, at {v:throwpoint}')
  finally
    draining = !empty(queue)
    if draining
      timer_start(1, (_) => Drain())
    endif
  endtry
enddef
