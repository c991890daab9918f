vim9script

# What :Reel does: a table of commands, each a small function.

import autoload './buffers.vim'
import autoload './link.vim'
import autoload './listing.vim'

# Carries out :Reel NAME REST.
export def Run(typed: string, range: number, first: number, last: number)
  const [_, name, rest; _] = matchlist(typed, '^\s*\(\S*\)\s*\(.\{-}\)\s*$')
  try
    if !COMMANDS->has_key(name)
      throw $'reel: usage: no command "{name}"; there are: {Names()->join()}'
    endif
    const said = COMMANDS[name](rest, range == 0 ? [] : getline(first, last))
    if said != ''
      echo said
    endif
  catch /^reel: /
    link.Complain(v:exception->substitute('^reel: ', '', ''))
  endtry
enddef

export def Names(): list<string>
  return COMMANDS->keys()->sort()
enddef

# Fills a buffer reel://NAME that is edited by that name.
export def Read(name: string)
  try
    const agent = link.Call('agent', {agent: name->substitute('^reel://', '', '')})
    buffers.Attach(bufnr(), agent)
    buffers.Fold()
    buffers.Enter(bufnr())
  catch /^reel: /
    link.Complain(v:exception->substitute('^reel: ', '', ''))
  endtry
enddef

# --- the commands

def Open(name: string): string
  if name == ''
    return List('')
  endif
  buffers.Show(link.Call('agent', {agent: name}))
  return ''
enddef

def Say(text: string, lines: list<string>): string
  const conversation = Current()
  const parts = [text, lines->join("\n")]->filter((_, part) => part != '')
  const said = text == '' && empty(lines) ? input(conversation.name .. '> ') : parts->join("\n\n")
  if said == ''
    return 'nothing sent'
  endif
  const reply = link.Command('add', {agent: conversation.agent, messages: [{role: 'user', content: said}]})
  return $'{conversation.name}: added {reply.first}'
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
  return trim($'{conversation.name}: marked {reply.seq} {label}')
enddef

def Rewind(label: string): string
  const conversation = Current()
  const reply = link.Command('rewind', {agent: conversation.agent}->extend(label == '' ? {} : {label: label}))
  return $'{conversation.name}: rewound to {reply.target}, dropped {reply.dropped}'
enddef

def Change(method: string, done: string): string
  const conversation = Current()
  link.Command(method, {agent: conversation.agent})
  return $'{conversation.name}: {done}'
enddef

def List(prefix: string): string
  listing.Show(prefix)
  return ''
enddef

def Info(name: string): string
  const agent = link.Call('agent', {agent: name != '' ? name : Current().agent})
  const marks = agent.marks->mapnew((_, mark) => $'{mark.label ?? '(no label)'} #{mark.seq}')
  const calls = agent.open_calls->mapnew((_, call) => $'{call.name} {call.id} #{call.seq}')
  return [
    $'{agent.name}{agent.alive ? '' : ' (killed)'}  {agent.id}',
    $'title     {agent.title ?? '(none)'}',
    $'messages  {agent.messages}, head {agent.head}',
    $'updated   {strftime('%Y-%m-%d %H:%M:%S', agent.updated / 1000)}',
    $'marks     {marks->join(', ') ?? '(none)'}',
    $'open      {calls->join(', ') ?? '(no calls)'}',
    $'attached  {agent.attached}',
  ]->join("\n")
enddef

def Current(): dict<any>
  const conversation = buffers.Current()
  if empty(conversation)
    throw 'reel: usage: no conversation is open; open one with :Reel open NAME, or make one with :Reel new NAME'
  endif
  return conversation
enddef

# A command is given what stands behind its name, and the lines of the range where there is one; it gives what to say.
const COMMANDS: dict<func(string, list<string>): string> = {
  open: (word, _) => Open(word),
  send: (word, lines) => Say(word, lines),
  new: (word, _) => New(word),
  clone: (word, _) => Clone(word),
  mark: (word, _) => Mark(word),
  rewind: (word, _) => Rewind(word),
  undo: (_, _) => Change('undo', 'undone'),
  redo: (_, _) => Change('redo', 'redone'),
  clear: (_, _) => Change('clear', 'cleared'),
  list: (word, _) => List(word),
  info: (word, _) => Info(word),
}
