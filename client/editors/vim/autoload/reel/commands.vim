vim9script

# The sub-commands of :Reel: a table, and a function for each.

import autoload './ask.vim'
import autoload './buffers.vim'
import autoload './code.vim'
import autoload './compose.vim'
import autoload './layout.vim'
import autoload './link.vim'
import autoload './listing.vim'
import autoload './search.vim'
import autoload './sending.vim'

# The commands that people know by their kind; all others added messages.
const KINDS = ['clear', 'clone', 'mark', 'restore', 'rewind']

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

# Fills a buffer that is edited by its name, reel://NAME, or reel://NAME#SEQ for the conversation as it was then.
export def Read(name: string)
  try
    const [_, agent, past; _] = matchlist(name, '^reel://\(.\{-1,}\)\%(#\(\d\+\)\)\=$')
    buffers.Attach(bufnr(), Find(agent), str2nr(past))
    buffers.Dress()
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
    throw 'reel: ' .. (reply.error.data.name == 'not_found' ? layout.Unknown(name) : reply.error.message)
  endif
  return reply.result
enddef

def Send(text: string, lines: list<string>): string
  const conversation = Current()
  const typed = text == '' && empty(lines) ? input($'To {conversation.name}: ') : Joined(text, lines)
  return sending.Send(conversation, typed)
enddef

def Joined(text: string, lines: list<string>): string
  return [text, lines->join("\n")]->filter((_, part) => part != '')->join("\n\n")
enddef

def Compose(): string
  compose.Open(Current())
  return ''
enddef

def Ask(text: string, lines: list<string>): string
  const conversation = Current()
  ask.Check(conversation)
  const message = text == '' && empty(lines) ? '' : sending.Send(conversation, Joined(text, lines))
  ask.Start(conversation)
  return message
enddef

def Stop(): string
  ask.Stop(Current())
  return ''
enddef

def Code(register: string): string
  const conversation = Current()
  const block = code.Last(conversation.copy.messages)
  if empty(block)
    throw $'reel: usage: {conversation.name}: no code block in an answer'
  endif
  setreg(register ?? v:register, block.lines, 'l')
  const language = block.language == '' ? '' : ' of ' .. block.language
  return $'{conversation.name}: copied {sending.Count(len(block.lines), 'line')}{language} from #{block.seq}'
enddef

def Answer(register: string): string
  const conversation = Current()
  const answer = code.Answer(conversation.copy.messages)
  if empty(answer)
    throw $'reel: usage: {conversation.name}: no answer to copy'
  endif
  setreg(register ?? v:register, answer.text->split("\n", true), 'l')
  return $'{conversation.name}: copied the answer #{answer.seq}'
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
  final params = {agent: from.agent}
  if name != ''
    params.name = name
  endif
  if from.past > 0
    params.at = from.past
  endif
  buffers.Show(link.Command('clone', params))
  return ''
enddef

def Mark(label: string): string
  const conversation = Current()
  const reply = link.Command('mark', {agent: conversation.agent}->extend(label == '' ? {} : {label: label}))
  return $'{conversation.name}: marked{label == '' ? '' : ' as ' .. label} (#{reply.seq})'
enddef

def Rewind(label: string): string
  const conversation = Current()
  const reply = link.Command('rewind', {agent: conversation.agent}->extend(label == '' ? {} : {label: label}))
  const mark = label == '' ? $'#{reply.target}' : $'{label} (#{reply.target})'
  return $'{conversation.name}: back at mark {mark}; {sending.Count(reply.dropped, 'message')} set aside'
enddef

def Undo(): string
  const conversation = Current()
  const reply = link.Command('undo', {agent: conversation.agent})
  return $'{conversation.name}: undid {Called(conversation, reply.undone)}; :Reel redo brings it back'
enddef

# Returns what to call a command: `the rewind (#7)`, or `#3` if it added messages.
def Called(conversation: dict<any>, seq: number): string
  const events = link.Call('history', {agent: conversation.agent, since: seq - 1, limit: 1}).events
  const kind = empty(events) ? '' : events[0].kind
  return KINDS->index(kind) < 0 ? $'#{seq}' : $'the {kind} (#{seq})'
enddef

def Redo(): string
  const conversation = Current()
  const reply = link.Command('redo', {agent: conversation.agent})
  return $'{conversation.name}: redid {Called(conversation, reply.redone)}'
enddef

def Clear(): string
  const conversation = Current()
  link.Command('clear', {agent: conversation.agent})
  return $'{conversation.name}: cleared; :Reel undo brings it back'
enddef

def Rename(name: string): string
  const conversation = Current()
  if name == ''
    throw 'reel: usage: rename: the new name is missing (:Reel rename NAME)'
  endif
  const agent = link.Command('change', {agent: conversation.agent, name: name})
  return $'{conversation.name} renamed to {agent.name}'
enddef

def Title(title: string): string
  const conversation = Current()
  const agent = link.Command('change', {agent: conversation.agent, title: title})
  return $'{conversation.name}: {agent.title ?? 'no title'}'
enddef

def List(prefix: string): string
  listing.Show(prefix)
  return ''
enddef

def Search(query: string): string
  const typed = query ?? input('Search: ')
  return typed =~ '\S' ? search.Show(typed) : ''
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
    ['cloned from', empty(source) ? '' : $'{NameOf(source.agent)} at #{source.at}'],
    ['created', layout.Time(agent.created)],
    ['updated', layout.Time(agent.updated)],
    ['followers', string(agent.attached)],
    ['prompt', agent.system ?? ''],
  ]
enddef

# Returns the name of an agent, or its id if there is no such agent.
def NameOf(id: string): string
  const reply = link.Ask('agent', {agent: id})
  return reply->has_key('error') ? id : reply.result.name
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
  compose: (_, _) => Compose(),
  ask: (word, lines) => Ask(word, lines),
  stop: (_, _) => Stop(),
  code: (word, _) => Code(word),
  answer: (word, _) => Answer(word),
  rename: (word, _) => Rename(word),
  title: (word, _) => Title(word),
  new: (word, _) => New(word),
  clone: (word, _) => Clone(word),
  mark: (word, _) => Mark(word),
  rewind: (word, _) => Rewind(word),
  undo: (_, _) => Undo(),
  redo: (_, _) => Redo(),
  clear: (_, _) => Clear(),
  list: (word, _) => List(word),
  search: (word, _) => Search(word),
  info: (word, _) => Info(word),
}
