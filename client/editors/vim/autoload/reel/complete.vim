vim9script

# Completion of :Reel: sub-commands, names of conversations, labels of marks.

import autoload './buffers.vim'
import autoload './commands.vim'
import autoload './link.vim'
import autoload './listing.vim'

const AGENTS = ['open', 'info']
const MARKS = ['mark', 'rewind']
const SHOWN = 200

export def Words(lead: string, line: string, position: number): list<string>
  const [_, name, rest; _] = matchlist(strpart(line, 0, position), '\CRe\%[el]\s\+\(\S*\)\(\s\+.*\)\=$') ?? ['', '', '']
  if rest == ''
    return commands.Names()->filter((_, each) => stridx(each, lead) == 0)
  endif
  var found: list<string> = []
  try
    found = Argument(name, trim(rest, " \t", 1), lead)
  catch /^reel: / # an error must not disturb a line that is being typed; the command will show it
  endtry
  return found
enddef

def Argument(name: string, rest: string, lead: string): list<string>
  if AGENTS->index(name) >= 0
    return listing.Forms(rest, SHOWN)
  elseif name == 'list' # whose argument is the beginning of names
    return listing.Names(rest, SHOWN)
  elseif MARKS->index(name) >= 0 && !empty(buffers.Current())
    return Labels(buffers.Current().agent)->filter((_, label) => stridx(label, rest) == 0)
      ->mapnew((_, label) => strpart(label, strlen(rest) - strlen(lead)))
  endif
  return []
enddef

def Labels(agent: string): list<string>
  return link.Call('agent', {agent: agent}).marks->mapnew((_, mark) => mark.label)
    ->filter((_, label) => type(label) == v:t_string)->sort()->uniq()
enddef
