vim9script

# A copy of a conversation, kept current by the fields `keep` and `count` of events. No I/O.

# The kinds of events that may change the prompt.
const PROMPT_KINDS = ['system', 'clear', 'rewind', 'restore', 'clone']

# Returns an empty copy: the messages; the prompt, '' if there is none; the newest seq in it; the drafts by connection;
# and how many leading messages are unchanged since the last drawing.
export def New(): dict<any>
  return {messages: [], system: '', seen: 0, drafts: {}, same: 0}
enddef

# Takes an event, and returns whether messages have to be read.
export def Event(copy: dict<any>, event: dict<any>): bool
  copy.seen = event.seq
  if !event->has_key('count')
    return false
  endif
  const short = len(copy.messages) < event.keep
  Truncate(copy, event.keep)
  if event->has_key('message') && !short
    copy.messages->add(event.message)
  endif
  return len(copy.messages) != event.count
enddef

# Takes a page of the messages after the last one.
export def Extend(copy: dict<any>, page: dict<any>)
  copy.messages->extend(page.messages)
  copy.seen = page.at
enddef

export def Truncate(copy: dict<any>, keep: number)
  if len(copy.messages) > keep
    copy.messages->remove(keep, -1)
    copy.same = min([copy.same, keep])
  endif
enddef

# Returns the seq after which messages are missing.
export def Last(copy: dict<any>): number
  return empty(copy.messages) ? 0 : copy.messages[-1].seq
enddef

# Takes the push of a draft. An empty text ends the draft.
export def Draft(copy: dict<any>, push: dict<any>)
  if push.text == ''
    if copy.drafts->has_key(push.connection)
      copy.drafts->remove(push.connection)
    endif
  else
    copy.drafts[push.connection] = push
  endif
enddef

export def MayChangePrompt(kind: string): bool
  return PROMPT_KINDS->index(kind) >= 0
enddef
