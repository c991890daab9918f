vim9script

# Lays out the hits of a search, in lines below the names of their conversations. No I/O.

const DAY = 86'400
const AGES = [['y', 365 * DAY], ['mo', 30 * DAY], ['d', DAY], ['h', 3'600], ['m', 60], ['s', 1]]
const COLOURS = {system: 'ReelSystem', user: 'ReelUser', assistant: 'ReelAssistant', tool: 'ReelTool'}

# Returns the lines of hits: a list of {spans, hit}, where each span is a text and a colour or ''. above: the id of the
# conversation of the hit above, whose name is not repeated; '' if there is none. now: seconds since the epoch.
export def Lines(hits: list<dict<any>>, above: string, now: number): list<dict<any>>
  final lines: list<dict<any>> = []
  var last = above
  for hit in Grouped(hits)
    if hit.agent != last
      if last != ''
        lines->add({spans: [], hit: {}})
      endif
      lines->add({spans: [[Flat(hit.name), 'ReelName'], [Flat(hit.title == null ? '' : '  ' .. hit.title), '']], hit: hit})
    endif
    last = hit.agent
    lines->add({spans: Heading(hit, now), hit: hit})
    lines->add({spans: Snippet(hit), hit: hit})
  endfor
  return lines
enddef

# Returns hits with those of each conversation together, conversations in the order of their first hit.
export def Grouped(hits: list<dict<any>>): list<dict<any>>
  final groups: dict<list<dict<any>>> = {}
  final order: list<string> = []
  for hit in hits
    if !groups->has_key(hit.agent)
      groups[hit.agent] = []
      order->add(hit.agent)
    endif
    groups[hit.agent]->add(hit)
  endfor
  return order->mapnew((_, agent) => groups[agent])->flattennew(1)
enddef

# Returns what to look for in the message of a hit, in this order: pairs of a text and of how many of its bytes come before
# the match. The first is the line around the first match, the second the match alone.
export def Contexts(hit: dict<any>): list<list<any>>
  if empty(hit.matches)
    return []
  endif
  const [begin, end] = hit.matches[0]
  const before = strcharpart(hit.snippet, 0, begin)->matchstr('[^\r\n]*$')
  const after = strcharpart(hit.snippet, begin)->matchstr('^[^\r\n]*')
  const match = strcharpart(hit.snippet, begin, end - begin)->matchstr('^[^\r\n]*')
  return [[before .. after, strlen(before)], [match, 0]]
enddef

def Heading(hit: dict<any>, now: number): list<list<string>>
  const role = hit.role ?? hit.kind
  const gone = hit.live ? '' : '  not in the conversation'
  return [[$'  #{hit.seq}  ', ''], [role, COLOURS->get(role, 'ReelNote')], [$'  {Age(get(hit, 'sent', hit.time), now)}{gone}', 'ReelNote']]
enddef

def Snippet(hit: dict<any>): list<list<string>>
  final spans = [['    ', '']]
  const text = Flat(hit.snippet)
  var done = 0
  for [begin, end] in hit.matches
    spans->add([strcharpart(text, done, begin - done), ''])
    spans->add([strcharpart(text, begin, end - begin), 'ReelMatch'])
    done = end
  endfor
  return spans->add([strcharpart(text, done), ''])
enddef

# Returns how long ago a time in milliseconds was, in its largest unit.
def Age(time: number, now: number): string
  for [unit, seconds] in AGES
    if now - time / 1000 >= seconds
      return $'{(now - time / 1000) / seconds}{unit}'
    endif
  endfor
  return 'now'
enddef

# Returns a text on one line, as long as it was: a line break would begin another line.
def Flat(text: string): string
  return text->substitute('[[:space:]]', ' ', 'g')
enddef
