vim9script

# A copy of a conversation, kept by what pushes say of it; nothing has to be understood of events. No I/O.

# What may have changed the prompt.
const PROMPT_KINDS = ['system', 'clear', 'rewind', 'restore', 'clone']

# A copy: the messages; the prompt, '' where there is none; the newest seq that is in it; who is writing what, by
# connection; and how many leading messages stand as they did when somebody last looked.
export def New(): dict<any>
  return {messages: [], system: '', seen: 0, drafts: {}, same: 0}
enddef

# Takes an event; says whether there are messages that have to be read.
export def Hear(copy: dict<any>, event: dict<any>): bool
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

# Takes a page of messages that follow the last one.
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

# The seq after which messages are missing.
export def Last(copy: dict<any>): number
  return empty(copy.messages) ? 0 : copy.messages[-1].seq
enddef

# Takes the push of a draft; its text is '' when the connection has stopped writing.
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
