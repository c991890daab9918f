vim9script

# The buffers that show conversations, reel://NAME: each is drawn from a copy, and drawn again when the copy changes.

import autoload './copy.vim'
import autoload './fences.vim'
import autoload './follow.vim'
import autoload './layout.vim'
import autoload './navigation.vim'

# Goes to the end. By itself, Vim scrolls to the cursor only in the current window; line('w0') makes it do so in any.
const END = "call cursor('$', 1) | call line('w0')"

var current = ''

# Returns the conversation that was opened or entered last; {} if there is none.
export def Current(): dict<any>
  return follow.Get(current)
enddef

# Returns the conversation of a buffer, also of one that composes a message to it; {} if it has none.
export def Of(buffer: number): dict<any>
  return follow.Get(getbufvar(buffer, 'reel_conversation', string(buffer)))
enddef

# Shows an agent in the current window.
export def Show(agent: dict<any>)
  const buffer = bufadd($'reel://{agent.name}')
  if follow.Get(string(buffer))->get('agent', '') != agent.id
    Attach(buffer, agent)
  endif
  if !win_gotoid(bufwinid(buffer))
    execute 'silent' &modified && !&hidden ? 'sbuffer' : 'buffer' buffer
  endif
  Enter(buffer)
enddef

# Makes a buffer show an agent. The buffer is loaded without autocommands and messages: its text is not in a file, but
# comes from the daemon.
export def Attach(buffer: number, agent: dict<any>)
  silent noautocmd bufload(buffer)
  follow.End(string(buffer))
  setbufvar(buffer, '&buftype', 'nofile')
  setbufvar(buffer, '&bufhidden', 'hide')
  setbufvar(buffer, '&buflisted', true)
  setbufvar(buffer, '&swapfile', false)
  setbufvar(buffer, '&undolevels', -1)
  setbufvar(buffer, '&modifiable', false)
  setbufvar(buffer, '&filetype', 'markdown')
  # The text is other people's: a modeline in it must not set options. This comes after the file type because its
  # autocommands may set 'modeline'; they run before the buffer has any text.
  setbufvar(buffer, '&modeline', false)
  setbufvar(buffer, 'reel_levels', [])
  setbufvar(buffer, 'reel_headings', [])
  setbufvar(buffer, 'reel_languages', {})
  autocmd_add([
    {group: 'reel', event: 'BufWinEnter', bufnr: buffer, cmd: 'call reel#buffers#Dress()', replace: true},
    {group: 'reel', event: 'BufUnload', bufnr: buffer, cmd: $'call reel#buffers#End({buffer})', replace: true},
  ])
  final conversation = follow.Begin(string(buffer), agent)
  conversation->extend({ends: [], tools: {}, shown_system: ''})
enddef

export def Enter(buffer: number)
  const conversation = Of(buffer)
  if !empty(conversation)
    current = conversation.id
  endif
enddef

export def End(buffer: number)
  follow.End(string(buffer))
enddef

# Prepares the current window: folds of calls, results and thinking, motions, highlighted code.
export def Dress()
  navigation.Map() # after the file type, whose own ]] would find headings inside of messages
  fences.Highlight(bufnr(), getline(1, '$'))
  &l:foldmethod = 'expr'
  &l:foldexpr = "get(b:reel_levels, v:lnum - 1, '0')"
  &l:foldtext = 'reel#buffers#FoldText()'
  &l:foldlevel = 0
enddef

export def FoldText(): string
  return $'{getline(v:foldstart)} +{v:foldend - v:foldstart} lines '
enddef

# --- drawing

# Draws a buffer from its copy, beginning with the first message that has changed.
def Draw(conversation: dict<any>)
  final its = conversation.copy
  if its.system !=# conversation.shown_system
    its.same = 0
  endif
  var [lines, levels] = [[], []]
  if its.same == 0
    [lines, levels] = layout.Prompt(its.system)
    conversation.shown_system = its.system
  endif
  const start = its.same == 0 ? 0 : conversation.ends[its.same - 1]
  conversation.ends = conversation.ends->slice(0, its.same)
  const buffer = str2nr(conversation.id)
  final headings: list<number> = getbufvar(buffer, 'reel_headings')
  headings->filter((_, heading) => heading <= start)->extend(empty(lines) ? [] : [1])
  for message in its.messages[its.same :]
    headings->add(start + len(lines) + 1)
    Add(lines, levels, layout.Message(message, conversation.tools))
    conversation.ends->add(start + len(lines))
  endfor
  for draft in its.drafts->values()
    headings->add(start + len(lines) + 1)
    Add(lines, levels, layout.Draft(get(draft, 'client', '') ?? '', draft.text))
  endfor
  its.same = len(its.messages)
  Write(buffer, start, lines, levels)
  fences.Highlight(buffer, lines)
enddef

def Add(lines: list<string>, levels: list<string>, part: list<list<any>>)
  lines->extend(part[0])
  levels->extend(part[1])
enddef

# Replaces everything after a line of a buffer. A cursor on the last line stays on the last line; elsewhere, the window
# keeps its view.
def Write(buffer: number, after: number, lines: list<string>, levels: list<string>)
  final views: list<list<any>> = []
  for window in win_findbuf(buffer)
    win_execute(window, 'w:reel_view = winsaveview()')
    views->add([window, line('.', window) == line('$', window) ? END : 'call winrestview(w:reel_view)'])
  endfor
  setbufvar(buffer, 'reel_levels', getbufvar(buffer, 'reel_levels')->slice(0, after) + levels)
  setbufvar(buffer, '&modifiable', true)
  silent deletebufline(buffer, after + 1, '$')
  if after == 0
    setbufline(buffer, 1, lines)
  else
    appendbufline(buffer, after, lines)
  endif
  setbufvar(buffer, '&modifiable', false)
  setbufvar(buffer, '&modified', false)
  for [window, command] in views
    win_execute(window, command)
  endfor
enddef

follow.OnChange(Draw)
