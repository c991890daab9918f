vim9script

# The conversations that are followed: each has a copy, which is read once and then kept current by a subscription.
#
# A conversation is either being read, page by page, up to a position; or it has a subscription that continues from
# there. A lost connection, `lagged`, `reset`, and an event with more messages than it carries start one of the two
# again. A reply to a request from before that start (an earlier turn) is ignored.

import autoload './copy.vim'
import autoload './layout.vim'
import autoload './link.vim'

# Vim decodes a message as a whole, and does not respond to the user meanwhile.
const PAGE = 131'072
# For how long a draft that has ended is shown, in milliseconds.
const GRACE = 1'000
# The position before the first page is read.
const NEWEST = -1

final followed: dict<dict<any>> = {}
var Changed: func = null_function

# Sets the function that draws a conversation whose copy has changed.
export def OnChange(Draw: func)
  Changed = Draw
enddef

# Follows an agent. id: the caller's name for this conversation. past: the seq of an event; the conversation is only read,
# as it was then. 0: it is followed.
export def Begin(id: string, agent: dict<any>, past: number): dict<any>
  followed[id] = {id: id, agent: agent.id, name: agent.name, past: past, copy: copy.New(), at: NEWEST, reading: true,
    turn: 0, sub: 0, changed: true, prompt_stale: false,
    gone: false}
  Read(followed[id], past ?? NEWEST)
  return followed[id]
enddef

export def End(id: string)
  if followed->has_key(id)
    Leave(followed->remove(id))
  endif
enddef

export def Get(id: string): dict<any>
  return followed->get(id, {})
enddef

# Returns a conversation that shows an agent as it is now; {} if there is none.
export def Find(agent: string): dict<any>
  return Where((each) => each.agent ==# agent && each.past == 0)->get(0, {})
enddef

def Leave(conversation: dict<any>)
  conversation.turn += 1
  if conversation.sub != 0
    link.Send('unsubscribe', {sub: conversation.sub})
    conversation.sub = 0
  endif
enddef

# --- reading

# Reads the messages that the copy lacks, as they were at a position, and then subscribes.
def Read(conversation: dict<any>, at: number)
  Leave(conversation)
  conversation.reading = true
  conversation.at = at
  Ask(conversation)
enddef

def Ask(conversation: dict<any>)
  final params = {agent: conversation.agent, since: copy.Last(conversation.copy), max_bytes: PAGE}
  if conversation.at != NEWEST
    params.at = conversation.at
  endif
  Send(conversation, 'messages', params, (page) => Take(conversation, page))
enddef

def Take(conversation: dict<any>, page: dict<any>)
  copy.Extend(conversation.copy, page)
  SetPrompt(conversation, page)
  conversation.at = page.at
  conversation.changed = true
  if page.more
    Ask(conversation)
  else
    conversation.reading = false
    if conversation.past == 0
      Subscribe(conversation)
    endif
  endif
enddef

# Reads everything again.
def ReadAgain(conversation: dict<any>)
  copy.Truncate(conversation.copy, 0)
  Read(conversation, conversation.past ?? NEWEST)
enddef

def ReadPrompt(conversation: dict<any>)
  conversation.prompt_stale = false
  Send(conversation, 'agent', {agent: conversation.agent}, (agent) => SetPrompt(conversation, agent))
enddef

def SetPrompt(conversation: dict<any>, reply: dict<any>)
  const system = type(reply.system) == v:t_string ? reply.system : ''
  if system !=# conversation.copy.system
    conversation.copy.system = system
    conversation.changed = true
  endif
enddef

# Sends a request whose result is used only in this turn of the conversation. A subscription from an earlier turn is
# ended.
def Send(conversation: dict<any>, method: string, params: dict<any>, Done: func(dict<any>))
  const [turn, connection] = [conversation.turn, link.Number()]
  link.Send(method, params, (reply) => {
    if turn == conversation.turn
      if reply->has_key('error')
        Fail(conversation, reply.error)
      else
        Done(reply.result)
      endif
    elseif method == 'subscribe' && reply->has_key('result') && connection == link.Number()
      link.Send('unsubscribe', {sub: reply.result.sub})
    endif
  })
enddef

# Shows an error. What was erased from the daemon goes from the copy as well.
def Fail(conversation: dict<any>, error: dict<any>)
  if error.data.name == 'not_found'
    copy.Truncate(conversation.copy, 0)
    conversation->extend({gone: true, changed: true})
    conversation.copy->extend({system: '', drafts: {}})
    link.Complain($'reel: {layout.Unknown(conversation.name)}')
  else
    link.Complain($'{error.message} ({conversation.name})')
  endif
enddef

# --- following

def Subscribe(conversation: dict<any>)
  Leave(conversation)
  conversation.changed = conversation.changed || !empty(conversation.copy.drafts)
  conversation.copy.drafts = {}
  # The request for the prompt may have been lost with a connection.
  conversation.prompt_stale = true
  const params = {agent: conversation.agent, since: conversation.copy.seen}
  Send(conversation, 'subscribe', params, (reply) => {
    conversation.sub = reply.sub
    if reply.head < conversation.copy.seen # a log never becomes shorter: it was replaced by a backup
      ReadAgain(conversation)
    endif
  })
enddef

def Hear(method: string, params: dict<any>)
  if method == 'event' || method == 'lagged'
    for conversation in Where((each) => each.sub == params.sub)
      if method == 'event'
        Event(conversation, params)
      else
        Subscribe(conversation)
      endif
    endfor
  elseif method == 'draft' || method == 'reset'
    for conversation in Where((each) => each.agent == params.agent)
      if method == 'reset'
        ReadAgain(conversation)
      elseif conversation.sub != 0
        Draft(conversation, params)
      endif
    endfor
  endif
enddef

# Takes a draft. The end of one is shown with its message, which comes a moment later: who reads the draft must not lose
# the place.
def Draft(conversation: dict<any>, push: dict<any>)
  const end = push.text == ''
  copy.Draft(conversation.copy, push)
  conversation.changed = conversation.changed || !end
  if end
    timer_start(GRACE, (_) => {
      conversation.changed = followed->get(conversation.id, {}) is conversation
      Settle()
    })
  endif
enddef

def Event(conversation: dict<any>, event: dict<any>)
  conversation.changed = true
  conversation.name = event.name
  conversation.prompt_stale = conversation.prompt_stale || copy.MayChangePrompt(event.kind)
  if copy.Event(conversation.copy, event)
    Read(conversation, event.seq)
  endif
enddef

def Settle()
  for conversation in Where((each) => true)
    if conversation.prompt_stale
      ReadPrompt(conversation)
    endif
    if conversation.changed
      conversation.changed = false
      Changed(conversation)
    endif
  endfor
enddef

# Continues all conversations on a new connection.
def Resume()
  for conversation in Where((each) => true)
    conversation.sub = 0
    if conversation.reading
      Read(conversation, conversation.at)
    elseif conversation.past == 0
      Subscribe(conversation)
    endif
  endfor
enddef

def Where(Holds: func(dict<any>): bool): list<dict<any>>
  return followed->values()->filter((_, each) => Holds(each))
enddef

link.Listen(Hear, Settle, Resume, () => !empty(followed))
