vim9script

# The buffers that show conversations, reel://NAME: each is drawn from a copy, and drawn again when the copy changes.

import autoload './copy.vim'
import autoload './fences.vim'
import autoload './follow.vim'
import autoload './hits.vim'
import autoload './layout.vim'
import autoload './navigation.vim'

# Goes to the end. By itself, Vim scrolls to the cursor only in the current window; line('w0') makes it do so in any.
const END = "call cursor('$', 1) | call line('w0')"

var current = ''

# Returns the conversation of the current buffer, else the one that was opened or entered last; {} if there is none.
export def Current(): dict<any>
  return Of(bufnr()) ?? follow.Get(current)
enddef

# Returns the conversation of a buffer, also of one that composes a message to it; {} if it has none.
export def Of(buffer: number): dict<any>
  const composed: dict<any> = getbufvar(buffer, 'reel_compose', {})
  if empty(composed)
    return follow.Get(string(buffer))
  endif
  # Its buffer may have been closed, and it may have another one now.
  return follow.Get(composed.id) is composed ? composed : follow.Find(composed.agent) ?? composed
enddef

# Shows an agent in the current window. past: the seq of an event, to show the conversation as it was then, or 0. hit: one
# of a search, to go to its message.
export def Show(agent: dict<any>, past: number = 0, hit: dict<any> = {})
  const buffer = bufadd($'reel://{agent.name}' .. (past > 0 ? $'#{past}' : ''))
  if follow.Get(string(buffer))->get('agent', '') != agent.id
    Attach(buffer, agent, past)
  endif
  if !win_gotoid(bufwinid(buffer))
    execute 'silent' &modified && !&hidden ? 'sbuffer' : 'buffer' buffer
  endif
  Enter(buffer)
  final conversation = Of(buffer)
  conversation.target = hit
  if !conversation.reading && !conversation.changed
    Arrive(conversation)
  endif
enddef

# Makes a buffer show an agent. The buffer is loaded without autocommands and messages: its text is not in a file, but
# comes from the daemon.
export def Attach(buffer: number, agent: dict<any>, past: number)
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
  final conversation = follow.Begin(string(buffer), agent, past)
  conversation->extend({ends: [], top: 0, tools: {}, shown_system: '', target: {}})
enddef

export def Enter(buffer: number)
  const conversation = Of(buffer)
  if !empty(conversation) && follow.Get(conversation.id) is conversation
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
    conversation.top = len(lines)
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
  if conversation.past > 0
    Add(lines, levels, layout.Past(conversation.name, conversation.past))
  endif
  its.same = len(its.messages)
  Write(buffer, start, lines, levels)
  fences.Highlight(buffer, lines)
  if !conversation.reading
    Arrive(conversation)
  endif
enddef

# Goes to the hit that the conversation was opened for, in the window of its buffer.
def Arrive(conversation: dict<any>)
  const hit = conversation.target
  const window = bufwinid(str2nr(conversation.id))
  conversation.target = {}
  if empty(hit) || window < 0
    return
  endif
  const [first, last] = Place(conversation, hit)
  const [number, column] = Found(getbufline(str2nr(conversation.id), first, last), hits.Contexts(hit))
  const view = number < 0 ? 'zt' : 'zz'
  win_execute(window, $'call cursor({first + max([number, 0])}, {column + 1}) | normal! zv{view}')
enddef

# Returns the first and the last line of a hit's message; if that is not there, of the message before.
def Place(conversation: dict<any>, hit: dict<any>): list<number>
  if hit.role == 'system'
    return [1, conversation.top]
  endif
  final before = conversation.copy.messages->slice(0)->filter((_, message) => message.seq <= hit.seq)
  if hit.role != null && before->get(-1, {})->get('seq') != hit.seq
    echo $'{conversation.name}: #{hit.seq} is not in the conversation any more; search again to see it'
  endif
  const starts = [conversation.top] + conversation.ends
  const index = len(before)
  return index == 0 ? [1, 1] : [starts[index - 1] + 1, starts[index]]
enddef

# Returns the number of the first line, from 0, that has one of some texts, and how many bytes come before the match in it;
# [-1, 0] if there is none.
def Found(lines: list<string>, contexts: list<list<any>>): list<number>
  for [text, offset] in contexts
    for [number, line] in lines->items()
      const column = stridx(line, text)
      if column >= 0
        return [number, column + offset]
      endif
    endfor
  endfor
  return [-1, 0]
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
