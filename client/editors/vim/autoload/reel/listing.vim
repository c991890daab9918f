vim9script

# The buffer that lists the conversations, to choose one.

import autoload './link.vim'
import autoload './panel.vim'
import autoload './words.vim'

const PAGE = 1'000
# The widest column for names.
const WIDEST = 36

# Shows the live conversations whose names begin with a prefix, the last changed first; <CR> opens the one under the
# cursor, q closes the list.
export def Show(prefix: string): string
  const agents = Agents(prefix)
  panel.Show('reel-list://', {'<CR>': 'reel#listing#Open()'})
  setlocal bufhidden=wipe nowrap # one conversation a line, also in a narrow window
  panel.Put(0, empty(agents) ? [Nothing(prefix)] : Lines(agents))
  b:reel_names = agents->mapnew((_, agent) => agent.name)
  return ''
enddef

# Opens the conversation on the cursor's line.
export def Open()
  const name = get(b:reel_names, line('.') - 1, '')
  if name != ''
    execute 'Reel open' name
  endif
enddef

# Returns the names of the first live conversations that begin with a prefix.
export def Names(prefix: string, limit: number): list<string>
  const params = {alive: true, limit: limit}->extend(prefix == '' ? {} : {prefix: prefix})
  return link.Call('agents', params).agents->mapnew((_, agent) => agent.name)
enddef

# Returns the shortest forms of the last changed live conversations that begin with a prefix, else their names.
export def Forms(prefix: string, limit: number): list<string>
  final params: dict<any> = {alive: true, limit: limit, order: 'updated', details: true}
  params->extend(prefix == '' ? {} : {prefix: prefix})
  return link.Call('agents', params).agents
    ->mapnew((_, agent) => stridx(NameOf(agent), prefix) == 0 ? NameOf(agent) : agent.name)
enddef

# Returns the live conversations whose names begin with a prefix, the last changed first, each once.
def Agents(prefix: string): list<dict<any>>
  final found: list<dict<any>> = []
  final seen: dict<bool> = {}
  final params: dict<any> = {alive: true, order: 'updated', details: true, limit: PAGE}
  params->extend(prefix == '' ? {} : {prefix: prefix})
  var more = true
  while more
    const page = link.Call('agents', params)
    for agent in page.agents
      if !seen->has_key(agent.id) # one that changes while the list is read comes twice
        seen[agent.id] = true
        found->add(agent)
      endif
    endfor
    more = page.more
    if more
      params.after = page.agents[-1].id
    endif
  endwhile
  return found
enddef

def Nothing(prefix: string): string
  return prefix == '' ? 'no conversations (:Reel new NAME creates one)'
    : $'no conversation begins with {prefix} (:Reel list shows all)'
enddef

# Returns the short form of a conversation's name; an older daemon has none.
def NameOf(agent: dict<any>): string
  return get(agent, 'short', agent.name)
enddef

# Returns the lines of the list: name, time of the last change, number of messages, what it is about.
def Lines(agents: list<dict<any>>): list<string>
  const widest = min([WIDEST, max(agents->mapnew((_, agent) => strdisplaywidth(NameOf(agent))))])
  return agents->mapnew((_, agent) => {
    const [time, count] = [words.Minute(agent.updated), agent.messages]
    const line = printf($'%-{widest}S  %s  %5d  %s', NameOf(agent), time, count, About(agent))
    return words.OneLine(line)->trim(' ', 2)
  })
enddef

# Returns what a conversation is about: its title, else its first words; and who is writing.
def About(agent: dict<any>): string
  final parts = [agent.title ?? agent.first_words ?? '']
  if agent.turn == 'tool'
    parts->add('(waits for a tool)')
  endif
  for client in agent.drafts
    parts->add($'(writing: {client ?? 'somebody'})')
  endfor
  return parts->join('  ')->trim(' ', 1)
enddef
