vim9script

# The buffer that lists the agents, to choose one from.

import autoload './link.vim'

const NAME = 'reel-list://'
const SHOWN = 1'000

# Shows the living agents whose names begin so; <CR> opens the one under the cursor.
export def Show(prefix: string)
  const reply = Agents(prefix, SHOWN)
  final lines = reply.agents->mapnew((_, each) => Line(each))
  if empty(lines)
    lines->add(prefix == '' ? 'No agents; make one with :Reel new NAME'
      : $'No agent has a name that begins with {prefix}; list all with :Reel list')
  elseif reply.more
    lines->add('… and more; narrow them down with :Reel list PREFIX')
  endif
  const buffer = bufadd(NAME)
  # Before it is loaded: Vim would look for a file of this name, and call it a directory for the slash at its end.
  setbufvar(buffer, '&buftype', 'nofile')
  bufload(buffer)
  if !win_gotoid(bufwinid(buffer))
    execute 'silent sbuffer' buffer
  endif
  # The titles are other people's text: a modeline in one must not set options.
  setlocal bufhidden=wipe noswapfile nomodeline modifiable
  silent deletebufline(buffer, 1, '$')
  setline(1, lines)
  setlocal nomodifiable nomodified
  nnoremap <buffer> <silent> <CR> <ScriptCmd>execute 'Reel open' matchstr(getline('.'), '^\S*')<CR>
enddef

# The living agents whose names begin so.
export def Agents(prefix: string, limit: number): dict<any>
  return link.Call('agents', {alive: true, limit: limit}->extend(prefix == '' ? {} : {prefix: prefix}))
enddef

def Line(agent: dict<any>): string
  const time = strftime('%Y-%m-%d %H:%M', agent.updated / 1000)
  return trim(printf('%-24s %s %6d  %s', agent.name, time, agent.head, agent.title ?? ''), ' ', 2)
enddef
