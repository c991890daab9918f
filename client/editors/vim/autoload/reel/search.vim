vim9script

# Searches all conversations, and shows the hits in the buffer reel-search://.

import autoload './buffers.vim'
import autoload './hits.vim'
import autoload './link.vim'
import autoload './panel.vim'
import autoload './words.vim'

const PAGE = 50
const MORE = 'm shows more hits'
# How many milliseconds a search waits for what was just said.
const WAIT = 500
const PARTIAL = 'very many messages have these words, and only the newest were ranked;'
  .. ' a rarer word or a filter finds older ones'
const COLOURS = {
  ReelName: 'Title', ReelMatch: 'Search', ReelNote: 'Comment', ReelSystem: 'Special', ReelUser: 'Identifier',
  ReelAssistant: 'Function', ReelTool: 'Type',
}

# Searches, and shows the hits; returns the message to show.
export def Show(query: string): string
  const page = Read({query: query})
  if empty(page.hits)
    return $'no matches for {query}'
  endif
  panel.Show('reel-search://', {'<CR>': 'reel#search#Open()', m: 'reel#search#More()'})
  setlocal bufhidden=hide wrap linebreak breakindent
  b:reel_search = {query: query, hits: []}
  Put(page, 0)
  cursor(2, 1)
  return Notices(page)->join("\n")
enddef

# Returns what is to be said about a page of hits.
def Notices(page: dict<any>): list<string>
  final said: list<string> = []
  for [word, others] in page->get('instead', {})->items()
    said->add($'nothing has {word}; showing results for {others->join(' and ')}')
  endfor
  if page->get('partial', false)
    said->add(PARTIAL)
  endif
  if page.behind > 0
    said->add($'the index is behind: {words.Count(page.behind, 'event')} cannot be found yet; repeat the search later')
  endif
  return said
enddef

# Shows more hits, if there are any.
export def More()
  words.Say(() => {
    final search: dict<any> = b:reel_search
    if !empty(search.after)
      Put(Read({query: search.query, after: search.after, above: search.above}), line('$') - 2)
    endif
    return ''
  })
enddef

# Opens the hit on the cursor's line, in another window than that of the hits.
export def Open()
  const hit = get(b:reel_search.hits, line('.') - 1, {})
  if !empty(hit)
    words.Say(() => Visit(hit))
  elseif getline('.') == MORE
    More()
  endif
enddef

# Shows the conversation of a hit, and goes to its message. What is not in the conversation any more is shown in the
# conversation as it was. Returns the message to show.
def Visit(hit: dict<any>): string
  const agent = link.Call('agent', {agent: hit.agent})
  const list = win_getid()
  wincmd p
  if win_getid() == list
    aboveleft new
  endif
  const replaced = hit.role == 'system' && stridx(agent.system ?? '', hit.snippet) < 0
  const has_place = hit.role != null || hit.kind == 'note'
  buffers.Show(agent, hit.live && !replaced ? 0 : hit.seq, has_place ? hit : {})
  return hit.kind == 'note' ? $'{agent.name}: #{hit.seq} is a note; reel log {agent.name} shows it' : ''
enddef

# Returns a page of hits. One without hits is not the end: the daemon ends a search after a second.
def Read(wanted: dict<any>): dict<any>
  link.Connect(true)
  final asked = wanted->extendnew({limit: PAGE})->extend(link.Knows('patterns') ? {order: 'fresh', wait: WAIT} : {})
  var page = link.Call('hits', asked)
  while page.more && empty(page.hits)
    page = link.Call('hits', asked->extend({after: page.next}))
  endwhile
  return page
enddef

# Puts hits below a line of the current buffer, in place of what is there.
def Put(page: dict<any>, below: number)
  final search: dict<any> = b:reel_search
  const more = page.more ? [{spans: [], hit: null}, {spans: [[MORE, 'note']], hit: null}] : []
  const lines = page.lines + more
  search.above = empty(page.hits) ? get(search, 'above', null) : page.hits[-1].agent
  search.after = page.more ? page.next : null
  search.hits = search.hits->slice(0, below) + lines->mapnew((_, line) => line.hit == null ? {} : page.hits[line.hit])
  panel.Put(below, lines->mapnew((_, line) => hits.Text(line)))
  for [number, line] in has('textprop') ? lines->items() : []
    for [column, length, colour] in hits.Colours(line)
      Colour(below + number + 1, column, length, colour)
    endfor
  endfor
enddef

# Colours a part of a line of the current buffer.
def Colour(number: number, column: number, length: number, colour: string)
  if empty(prop_type_get(colour))
    execute 'highlight default link' colour COLOURS[colour]
    prop_type_add(colour, {highlight: colour})
  endif
  prop_add(number, column, {length: length, type: colour})
enddef
