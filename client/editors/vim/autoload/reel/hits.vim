vim9script

# The hits of a search, as the daemon lays them out. No I/O.

# The colours of spans, by what they are.
const COLOURS = {
  system: 'ReelSystem', user: 'ReelUser', assistant: 'ReelAssistant', tool: 'ReelTool', name: 'ReelName',
  match: 'ReelMatch', note: 'ReelNote',
}

# Returns the text of a line.
export def Text(line: dict<any>): string
  return line.spans->mapnew((_, span) => span[0])->join('')
enddef

# Returns the colours of a line: lists of a column, a length in bytes and a colour.
export def Colours(line: dict<any>): list<list<any>>
  final found: list<list<any>> = []
  var column = 1
  for [text, what] in line.spans
    if COLOURS->has_key(what) && text != ''
      found->add([column, strlen(text), COLOURS[what]])
    endif
    column += strlen(text)
  endfor
  return found
enddef

# Returns what to look for in the message of a hit, in this order: pairs of a text and of how many of its bytes come before
# the match. The first is the line around the first match, the second the match alone.
export def Contexts(hit: dict<any>): list<list<any>>
  const context = hit->get('context', null) ?? []
  return empty(context) ? [] : [[context->join(''), strlen(context[0])], [context[1], 0]]
enddef
