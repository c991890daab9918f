vim9script

# The buffers that show conversations, reel://NAME.

import autoload './fences.vim'
import autoload './follow.vim'
import autoload './places.vim'

# The buffer of a conversation that was opened or entered last.
var current = 0

# Returns the conversation of the current buffer, else the one that was opened or entered last; {} if there is none.
export def Current(): dict<any>
  return Of(bufnr()) ?? follow.Get(current)
enddef

# Returns the conversation of a buffer, also of one that composes a message to it; {} if it has none.
export def Of(buffer: number): dict<any>
  const composed: dict<any> = getbufvar(buffer, 'reel_compose', {})
  if empty(composed)
    return follow.Get(buffer)
  endif
  # Its buffer may have been closed, and it may have another one now.
  return follow.Get(composed.buffer) is composed ? composed : follow.Find(composed.agent) ?? composed
enddef

# Shows an agent in the current window. past: the seq of an event, to show the conversation as it was then, or 0. hit: one
# of a search, to go to its message.
export def Show(agent: dict<any>, past: number = 0, hit: dict<any> = {})
  const buffer = bufadd($'reel://{agent.name}' .. (past > 0 ? $'#{past}' : ''))
  if follow.Get(buffer)->get('agent', '') != agent.id
    Attach(buffer, agent, past)
  endif
  if !win_gotoid(bufwinid(buffer))
    execute 'silent' &modified && !&hidden ? 'sbuffer' : 'buffer' buffer
  endif
  Enter(buffer)
  final conversation = Of(buffer)
  conversation.target = copy(hit)
  places.Arrive(conversation, {more: conversation.reading, headings: []})
enddef

# Makes a buffer show an agent. The buffer is loaded without autocommands and messages: its text is not in a file, but
# comes from the daemon.
export def Attach(buffer: number, agent: dict<any>, past: number)
  silent noautocmd bufload(buffer)
  follow.End(buffer)
  setbufvar(buffer, '&buftype', 'nofile')
  setbufvar(buffer, '&bufhidden', 'hide')
  setbufvar(buffer, '&buflisted', true)
  setbufvar(buffer, '&swapfile', false)
  setbufvar(buffer, '&undolevels', -1)
  setbufvar(buffer, '&filetype', 'markdown')
  # The text is other people's: a modeline in it must not set options. This comes after the file type because its
  # autocommands may set 'modeline'; they run before the buffer has any text.
  setbufvar(buffer, '&modeline', false)
  setbufvar(buffer, 'reel_languages', {})
  autocmd_add([
    {group: 'reel', event: 'BufWinEnter', bufnr: buffer, cmd: 'call reel#buffers#Dress()', replace: true},
    {group: 'reel', event: 'BufUnload', bufnr: buffer, cmd: $'call reel#follow#End({buffer})', replace: true},
  ])
  follow.Begin(buffer, agent, past)
enddef

export def Enter(buffer: number)
  if !empty(follow.Get(buffer))
    current = buffer
  endif
enddef

# Prepares the current window: folds of calls, results and thinking, motions, highlighted code.
export def Dress()
  places.Map() # after the file type, whose own ]] would find headings inside of messages
  fences.Highlight(bufnr(), getline(1, '$'))
  &l:foldmethod = 'expr'
  &l:foldexpr = "get(b:reel_rows, v:lnum - 1)"
  &l:foldtext = 'reel#buffers#FoldText()'
  &l:foldlevel = 0
enddef

export def FoldText(): string
  return $'{getline(v:foldstart)} +{v:foldend - v:foldstart} lines '
enddef
