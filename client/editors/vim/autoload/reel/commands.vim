vim9script

# The sub-commands of :Reel: a table, and a function for each.

import autoload './buffers.vim'
import autoload './layout.vim'
import autoload './link.vim'
import autoload './listing.vim'

# Runs :Reel NAME REST.
export def Run(typed: string, range: number, first: number, last: number)
  const [_, name, rest; _] = matchlist(typed, '^\s*\(\S*\)\s*\(.\{-}\)\s*$')
  try
    if name != '' && !COMMANDS->has_key(name)
      throw $'reel: usage: no command "{name}"; there are: {Names()->join()}'
    endif
    const message = COMMANDS[name ?? 'list'](rest, range == 0 ? [] : getline(first, last))
    if message != ''
      echo message
    endif
  catch /^reel: /
    link.Complain(v:exception)
  endtry
enddef

export def Names(): list<string>
  return COMMANDS->keys()->sort()
enddef

# Fills a buffer that is edited by its name, reel://NAME.
export def Read(name: string)
  try
    const agent = Find(name->substitute('^reel://', '', ''))
    buffers.Attach(bufnr(), agent)
    buffers.Fold()
    buffers.Enter(bufnr())
  catch /^reel: /
    link.Complain(v:exception)
  endtry
enddef

# --- the commands

def Open(name: string): string
  if name == ''
    return List('')
  endif
  buffers.Show(Find(name))
  return ''
enddef

# Returns a conversation by its name. If there is none, the error says what creates it.
def Find(name: string): dict<any>
  const reply = link.Ask('agent', {agent: name})
  if reply->has_key('error')
    const unknown = $'not_found: no conversation {name} (:Reel new {name} creates it)'
    throw 'reel: ' .. (reply.error.data.name == 'not_found' ? unknown : reply.error.message)
  endif
  return reply.result
enddef

def Send(text: string, lines: list<string>): string
  const conversation = Current()
  const parts = [text, lines->join("\n")]->filter((_, part) => part != '')
  const content = text == '' && empty(lines) ? input($'To {conversation.name}: ') : parts->join("\n\n")
  if content == ''
    return 'nothing sent'
  endif
  const reply = link.Command('add', {agent: conversation.agent, messages: [{role: 'user', content: content}]})
  const replaced = reply->has_key('replaced') ? $'; {Count(reply.replaced, 'character')} replaced by U+FFFD' : ''
  return $'{conversation.name}: added #{reply.first}{replaced}'
enddef

def Count(number: number, thing: string): string
  return $'{number} {thing}{number == 1 ? '' : 's'}'
enddef

def New(word: string): string
  const [_, name, system; _] = matchlist(word, '^\(\S*\)\s*\(.*\)$')
  final params = {}
  if name != ''
    params.agent = name
  endif
  if system != ''
    params.system = system
  endif
  buffers.Show(link.Command('create', params))
  return ''
enddef

def Clone(name: string): string
  const from = Current()
  buffers.Show(link.Command('clone', {agent: from.agent}->extend(name == '' ? {} : {name: name})))
  return ''
enddef

def Mark(label: string): string
  const conversation = Current()
  const reply = link.Command('mark', {agent: conversation.agent}->extend(label == '' ? {} : {label: label}))
  return $'{conversation.name}: mark{label == '' ? '' : ' ' .. label} set (#{reply.seq})'
enddef

def Rewind(label: string): string
  const conversation = Current()
  const reply = link.Command('rewind', {agent: conversation.agent}->extend(label == '' ? {} : {label: label}))
  const mark = label == '' ? 'the newest mark' : 'mark ' .. label
  return $'{conversation.name}: back at {mark} (#{reply.target}); {Count(reply.dropped, 'record')} set aside'
enddef

def Undo(): string
  const conversation = Current()
  const reply = link.Command('undo', {agent: conversation.agent})
  return $'{conversation.name}: undid #{reply.undone}; :Reel redo brings it back'
enddef

def Redo(): string
  const conversation = Current()
  const reply = link.Command('redo', {agent: conversation.agent})
  return $'{conversation.name}: redid #{reply.redone}'
enddef

def Clear(): string
  const conversation = Current()
  link.Command('clear', {agent: conversation.agent})
  return $'{conversation.name}: cleared; :Reel undo brings it back'
enddef

def List(prefix: string): string
  listing.Show(prefix)
  return ''
enddef

def Info(name: string): string
  return Facts(name == '' ? link.Call('agent', {agent: Current().agent}) : Find(name))
    ->filter((_, fact) => fact[1] != '')
    ->mapnew((_, fact) => printf('%-12s %s', fact[0], layout.OneLine(fact[1])))
    ->join("\n")
enddef

# Returns the facts about a conversation: pairs of a name and a text.
def Facts(agent: dict<any>): list<list<string>>
  const marks = agent.marks->mapnew((_, mark) => trim($'{mark.label ?? ''} #{mark.seq}'))
  const calls = agent.open_calls->mapnew((_, call) => $'{call.name} {call.id}')
  const source = get(agent, 'source', null) ?? {}
  return [
    ['name', agent.name],
    ['id', agent.id],
    ['state', agent.alive ? '' : 'killed'],
    ['title', agent.title ?? ''],
    ['messages', string(agent.messages)],
    ['head', $'#{agent.head}'],
    ['marks', marks->join(', ')],
    ['waiting for', calls->join(', ')],
    ['tags', agent.tags->items()->mapnew((_, tag) => tag->join('='))->sort()->join(', ')],
    ['cloned from', empty(source) ? '' : $'{source.agent} at #{source.at}'],
    ['created', layout.Time(agent.created)],
    ['updated', layout.Time(agent.updated)],
    ['followers', string(agent.attached)],
    ['prompt', agent.system ?? ''],
  ]
enddef

def Current(): dict<any>
  const conversation = buffers.Current()
  if empty(conversation)
    throw 'reel: usage: no conversation is open (:Reel open NAME opens one)'
  endif
  return conversation
enddef

# A function takes the text after the sub-command's name, and the lines of the range (empty without a range). It returns
# the message to show.
const COMMANDS: dict<func(string, list<string>): string> = {
  open: (word, _) => Open(word),
  send: (word, lines) => Send(word, lines),
  new: (word, _) => New(word),
  clone: (word, _) => Clone(word),
  mark: (word, _) => Mark(word),
  rewind: (word, _) => Rewind(word),
  undo: (_, _) => Undo(),
  redo: (_, _) => Redo(),
  clear: (_, _) => Clear(),
  list: (word, _) => List(word),
  info: (word, _) => Info(word),
}
