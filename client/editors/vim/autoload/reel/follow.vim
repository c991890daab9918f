vim9script

# The conversations that are followed: each has a subscription to the lines of an agent, whose patches change its sheet.
# Coming back after a loss is subscribing again.

import autoload './lines.vim'
import autoload './link.vim'
import autoload './places.vim'
import autoload './words.vim'

# The conversations by their buffers. A conversation is a sheet with the id and the name of the agent; the seq of an
# event if it is shown as it was then (past), or 0; its subscription (sub), or 0; whether patches are missing (reading);
# whether the agent is gone; whether a patch has failed; and the hit of a search to go to (target), or {}.
final followed: dict<dict<any>> = {}

# Follows an agent in a buffer.
export def Begin(buffer: number, agent: dict<any>, past: number)
  final its = lines.New(buffer)->extend({agent: agent.id, name: agent.name, past: past, sub: 0, reading: true,
    gone: false, failed: false, target: {}})
  followed[buffer] = its
  Subscribe(its)
enddef

export def End(buffer: number)
  if followed->has_key(buffer)
    Leave(followed->remove(buffer))
  endif
enddef

# Returns the conversation of a buffer; {} if it has none.
export def Get(buffer: number): dict<any>
  return followed->get(buffer, {})
enddef

# Returns a conversation that shows an agent as it is now; {} if there is none.
export def Find(agent: string): dict<any>
  return Where((each) => each.agent ==# agent && each.past == 0)->get(0, {})
enddef

def Where(Holds: func(dict<any>): bool): list<dict<any>>
  return followed->values()->filter((_, each) => Holds(each))
enddef

def Leave(its: dict<any>)
  if its.sub != 0
    link.Send('unsubscribe', {sub: its.sub})
    its.sub = 0
  endif
enddef

def Subscribe(its: dict<any>)
  const past = $'*{its.name} as it was at #{its.past} (:Reel open {its.name} shows it as it is now)*'
  its->extend({sub: 0, reading: true})
  lines.Begin(its)
  lines.SetBelow(its, its.past == 0 ? '' : past)
  if !link.Knows('facts')
    Fail(its, 'usage: this reeld cannot show lines; restart the daemon: reel stop; reel start')
    return
  endif
  const params = {agent: its.agent, view: 'lines'}->extend(its.past == 0 ? {} : {at: its.past})
  link.Send('subscribe', params, (reply) => {
    Subscribed(its, reply)
  })
enddef

def Subscribed(its: dict<any>, reply: dict<any>)
  if Get(its.buffer) isnot its
    Leave({sub: reply->has_key('result') ? reply.result.sub : 0})
  elseif reply->has_key('result')
    its.sub = reply.result.sub
  elseif reply.error.data.name == 'not_found'
    Lose(its)
    Fail(its, words.Unknown(its.name))
  else
    Fail(its, reply.error.message)
  endif
enddef

# Takes the text of an agent that is gone from the buffer.
def Lose(its: dict<any>)
  its->extend({gone: true, sub: 0})
  lines.Clear(its)
enddef

def Fail(its: dict<any>, error: string)
  its.reading = false
  Warn(its, error)
  words.Complain(error)
enddef

# Says below the lines of a conversation why it does not go on.
def Warn(its: dict<any>, error: string)
  lines.SetBelow(its, $'*{words.Plain(error)}*')
enddef

def Hear(method: string, params: dict<any>)
  for its in Where((each) => each.sub == params->get('sub', -1))
    if method == 'lines'
      Take(its, params)
    elseif method == 'lagged'
      Subscribe(its)
    elseif method == 'reset'
      Lose(its)
      Fail(its, 'the conversation is gone')
    endif
  endfor
enddef

def Take(its: dict<any>, patch: dict<any>)
  try
    lines.Apply(its, patch)
    its.name = patch.name
    its.reading = patch.more
    its.failed = its.failed && patch.more
    places.Arrive(its, patch)
  catch # half of the patch may be in the buffer
    Leave(its)
    lines.Clear(its)
    if its.failed
      Fail(its, $'{v:exception}, at {v:throwpoint}')
    else
      its.failed = v:exception != 'Vim:Interrupt' # which is CTRL-C
      Subscribe(its)
    endif
  endtry
enddef

# Continues all conversations on a new connection.
def Resume()
  for its in Alive()
    Subscribe(its)
  endfor
enddef

def Pause(error: string)
  for its in Alive()
    Warn(its, error)
  endfor
  words.Complain(error)
enddef

def Alive(): list<dict<any>>
  return Where((each) => !each.gone)
enddef

link.Listen(Hear, Resume, Pause, () => !empty(Alive()))
