vim9script

# The buffer that lists the conversations, to choose one.

import autoload './layout.vim'
import autoload './link.vim'

const NAME = 'reel-list://'
const SHOWN = 1'000

# Shows the live agents whose names begin with a prefix; <CR> opens the one under the cursor.
export def Show(prefix: string)
  const reply = Agents(prefix, SHOWN)
  final lines = reply.agents->mapnew((_, each) => Line(each))
  if empty(lines)
    lines->add(prefix == '' ? 'no conversations (:Reel new NAME creates one)'
      : $'no conversation begins with {prefix} (:Reel list shows all)')
  elseif reply.more
    lines->add('… and more (:Reel list PREFIX narrows them down)')
  endif
  const buffer = bufadd(NAME)
  # This comes before loading: otherwise Vim looks for a file of this name, and reports that it is a directory because of
  # the slash at its end.
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

# Returns the first live agents whose names begin with a prefix, and whether there are more.
export def Agents(prefix: string, limit: number): dict<any>
  return link.Call('agents', {alive: true, limit: limit}->extend(prefix == '' ? {} : {prefix: prefix}))
enddef

def Line(agent: dict<any>): string
  const line = printf('%-24s %s %6s  %s', agent.name, layout.Time(agent.updated), $'#{agent.head}', agent.title ?? '')
  return layout.OneLine(line)->trim(' ', 2)
enddef
