vim9script

# The sub-commands of :Reel: a table, and a function for each.

import autoload './ask.vim'
import autoload './buffers.vim'
import autoload './compose.vim'
import autoload './link.vim'
import autoload './listing.vim'
import autoload './search.vim'
import autoload './words.vim'

# The commands that people know by their kind; all others added messages.
const KINDS = ['clear', 'clone', 'mark', 'restore', 'rewind']
# How many conversations for which a short form stands are asked for.
const MOST_MEANT = 100

# Runs :Reel NAME REST.
export def Run(typed: string, range: number, first: number, last: number)
  const [_, name, rest; _] = matchlist(typed, '^\s*\(\S*\)\s*\(.\{-}\)\s*$')
  words.Say(() => Do(name ?? 'list', rest, range == 0 ? [] : getline(first, last)))
enddef

def Do(name: string, rest: string, lines: list<string>): string
  if OTHERS->has_key(name)
    return OTHERS[name](rest)
  elseif !COMMANDS->has_key(name)
    throw $'reel: usage: no command "{name}"; there are: {Names()->join()}'
  endif
  return COMMANDS[name](Current(), rest, lines)
enddef

export def Names(): list<string>
  return (OTHERS->keys() + COMMANDS->keys())->sort()
enddef

# Fills a buffer that is edited by its name, reel://NAME, or reel://NAME#SEQ for the conversation as it was then.
export def Read(name: string)
  words.Say(() => {
    const [_, agent, past; _] = matchlist(name, '^reel://\(.\{-1,}\)\%(#\(\d\+\)\)\=$')
    buffers.Attach(bufnr(), Find(agent), str2nr(past))
    buffers.Dress()
    buffers.Enter(bufnr())
    return ''
  })
enddef

def Current(): dict<any>
  const conversation = buffers.Current()
  if empty(conversation)
    throw 'reel: usage: no conversation is open (:Reel open NAME opens one)'
  endif
  return conversation
enddef

# Returns an agent by its name, its id, or a short form. If there is none, the error says what creates it.
def Find(name: string): dict<any>
  const reply = link.Ask('agent', {agent: name})
  if !reply->has_key('error')
    return reply.result
  elseif reply.error.data.name != 'not_found'
    throw 'reel: ' .. reply.error.message
  endif
  return Meant(name)
enddef

# Returns the agent for which a short form stands; killed ones count only if no live one is meant.
def Meant(typed: string): dict<any>
  const known = link.Knows('short_names')
  final found: list<dict<any>> = known ? link.Call('agents', {short: typed, limit: MOST_MEANT}).agents : []
  final live = found->copy()->filter((_, agent) => agent.alive)
  const meant = empty(live) ? found : live
  if len(meant) != 1
    throw 'reel: ' .. (empty(meant) ? words.Unknown(typed) : words.Ambiguous(typed, meant))
  endif
  return meant[0]
enddef

# Returns a parameter that is left out if it is empty.
def Given(name: string, value: string): dict<any>
  return value == '' ? {} : {[name]: value}
enddef

# --- commands about any conversation

def Open(name: string): string
  if name == ''
    return listing.Show('')
  endif
  buffers.Show(Find(name))
  return ''
enddef

def New(word: string): string
  const [_, name, system; _] = matchlist(word, '^\(\S*\)\s*\(.*\)$')
  buffers.Show(link.Command('create', Given('agent', name)->extend(Given('system', system))))
  return ''
enddef

def Search(query: string): string
  const typed = query ?? input('Search: ')
  return typed =~ '\S' ? search.Show(typed) : ''
enddef

def Info(name: string): string
  return link.Call('facts', {agent: name == '' ? Current().agent : Find(name).id}).lines->join("\n")
enddef

# --- commands about the current conversation

def Send(its: dict<any>, text: string, lines: list<string>): string
  return compose.Send(its, text == '' && empty(lines) ? input($'To {its.name}: ') : Joined(text, lines))
enddef

def Joined(text: string, lines: list<string>): string
  return [text, lines->join("\n")]->filter((_, part) => part != '')->join("\n\n")
enddef

def Ask(its: dict<any>, text: string, lines: list<string>): string
  ask.Check(its)
  const message = text == '' && empty(lines) ? '' : compose.Send(its, Joined(text, lines))
  ask.Start(its)
  return message
enddef

def Code(its: dict<any>, register: string): string
  const found = Copied(its, {code: true}, register, 'no code block in an answer')
  const language = found.language == '' ? '' : ' of ' .. found.language
  return $'{its.name}: copied {words.Count(found.size, 'line')}{language} from #{found.seq}'
enddef

def Answer(its: dict<any>, register: string): string
  return $'{its.name}: copied the answer #{Copied(its, {}, register, 'no answer to copy').seq}'
enddef

# Copies a text of the last answer to a register, and returns it with its number of lines.
def Copied(its: dict<any>, what: dict<any>, register: string, missing: string): dict<any>
  final found = link.Call('answer', {agent: its.agent}->extend(what))
  if found.seq == null
    throw $'reel: usage: {its.name}: {missing}'
  endif
  const lines = found.text == '' ? [] : found.text->split("\n", true)
  setreg(register ?? v:register, lines, 'l')
  return found->extend({size: len(lines)})
enddef

def Clone(its: dict<any>, name: string): string
  const at = its.past == 0 ? {} : {at: its.past}
  buffers.Show(Change(its, 'clone', Given('name', name)->extend(at)))
  return ''
enddef

# Gives a command to a conversation, and returns the reply.
def Change(its: dict<any>, method: string, params: dict<any> = {}): dict<any>
  return link.Command(method, {agent: its.agent}->extend(params))
enddef

def Mark(its: dict<any>, label: string): string
  const reply = Change(its, 'mark', Given('label', label))
  return $'{its.name}: marked{label == '' ? '' : ' as ' .. label} (#{reply.seq})'
enddef

def Rewind(its: dict<any>, label: string): string
  const reply = Change(its, 'rewind', Given('label', label))
  const called = reply->get('label', label)
  const mark = called == '' ? $'mark #{reply.target}' : $'{called} (#{reply.target})'
  return $'{its.name}: back at {mark}; {words.Count(reply.dropped, 'message')} set aside'
enddef

def Undo(its: dict<any>): string
  return $'{its.name}: undid {Called(its, Change(its, 'undo').undone)}; :Reel redo does it again'
enddef

def Redo(its: dict<any>): string
  return $'{its.name}: redid {Called(its, Change(its, 'redo').redone)}'
enddef

# Returns what to call a command: `the rewind (#7)`, or `#3` if it added messages.
def Called(its: dict<any>, seq: number): string
  const events = link.Call('history', {agent: its.agent, since: seq - 1, limit: 1}).events
  const kind = empty(events) ? '' : events[0].kind
  return KINDS->index(kind) < 0 ? $'#{seq}' : $'the {kind} (#{seq})'
enddef

def Clear(its: dict<any>): string
  Change(its, 'clear')
  return $'{its.name}: cleared; :Reel undo brings it back'
enddef

def Rename(its: dict<any>, name: string): string
  if name == ''
    throw 'reel: usage: rename: the new name is missing (:Reel rename NAME)'
  endif
  return $'{its.name} renamed to {Change(its, 'change', {name: name}).name}'
enddef

def Title(its: dict<any>, title: string): string
  return $'{its.name}: {Change(its, 'change', {title: title}).title ?? 'no title'}'
enddef

# A function takes the text after the sub-command's name, and returns the message to show.
const OTHERS: dict<func(string): string> = {
  open: (word) => Open(word),
  new: (word) => New(word),
  list: (word): string => listing.Show(word),
  search: (word) => Search(word),
  info: (word) => Info(word),
}
# These take the conversation, the text, and the lines of the range (empty without a range).
const COMMANDS: dict<func(dict<any>, string, list<string>): string> = {
  send: (its, word, lines) => Send(its, word, lines),
  compose: (its, _, _): string => compose.Open(its),
  ask: (its, word, lines) => Ask(its, word, lines),
  stop: (its, _, _): string => ask.Stop(its),
  code: (its, word, _) => Code(its, word),
  answer: (its, word, _) => Answer(its, word),
  clone: (its, word, _) => Clone(its, word),
  mark: (its, word, _) => Mark(its, word),
  rewind: (its, word, _) => Rewind(its, word),
  undo: (its, _, _) => Undo(its),
  redo: (its, _, _) => Redo(its),
  clear: (its, _, _) => Clear(its),
  rename: (its, word, _) => Rename(its, word),
  title: (its, word, _) => Title(its, word),
}
