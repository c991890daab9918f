vim9script

# Sends messages of the user. A message can be written in a compose buffer, reel-compose://NAME: :write sends it.

import autoload './link.vim'
import autoload './words.vim'

const SCHEME = 'reel-compose://'

# Sends a text to a conversation, and returns the line to show; nothing is sent if the text is blank.
export def Send(conversation: dict<any>, text: string): string
  if trim(text) == ''
    return 'nothing sent'
  endif
  const reply = link.Command('add', {agent: conversation.agent, messages: [{role: 'user', content: text}]})
  const replaced = reply->has_key('replaced') ? $'; {words.Count(reply.replaced, 'character')} replaced by U+FFFD' : ''
  return $'{conversation.name}: added #{reply.first}{replaced}'
enddef

# Shows the compose buffer of a conversation in a window below; text that was not sent is still in it.
export def Open(conversation: dict<any>): string
  const buffer = BufferOf(conversation)
  const new = !bufloaded(buffer) || getbufvar(buffer, 'reel_compose', {}) isnot conversation
  # This comes before loading: otherwise Vim looks for a file of this name.
  setbufvar(buffer, '&buftype', 'acwrite')
  setbufvar(buffer, '&bufhidden', 'hide')
  if !win_gotoid(bufwinid(buffer))
    execute 'silent botright sbuffer' buffer
    execute 'resize' min([12, &lines / 3])
  endif
  if new
    setlocal filetype=markdown
    b:reel_compose = conversation
    autocmd_add([{group: 'reel', event: 'BufWriteCmd', bufnr: buffer, cmd: 'call reel#compose#Write()', replace: true}])
  endif
  return $'To {conversation.name}: :write sends this buffer'
enddef

# Returns the compose buffer of a conversation. It stays with that conversation, whatever name this gets.
def BufferOf(conversation: dict<any>): number
  for buffer in getbufinfo({bufloaded: 1})
    if buffer.variables->get('reel_compose', {})->get('agent', '') ==# conversation.agent
      return buffer.bufnr
    endif
  endfor
  const buffer = bufadd(SCHEME .. conversation.name)
  if !empty(getbufvar(buffer, 'reel_compose', {})) && getbufvar(buffer, '&modified')
    # It has a message to another conversation, which had the name before.
    return bufadd(SCHEME .. conversation.agent)
  endif
  return buffer
enddef

# Sends the text of the current buffer, and closes its window; with :write FILE, writes it to that file instead. If that
# fails, the buffer keeps its text and stays modified.
export def Write()
  const path = expand('<amatch>')
  if stridx(path, SCHEME) != 0
    Save(path)
    return
  endif
  words.Say(() => {
    const message = Send(b:reel_compose, getline(1, '$')->join("\n"))
    silent :%delete _
    setlocal nomodified
    const buffer = bufnr()
    timer_start(0, (_) => Close(buffer)) # after :wq, which closes the current window itself, whichever that is
    return message
  })
enddef

# Closes the windows of a buffer whose text was sent, unless it has a new one or no other window is left.
def Close(buffer: number)
  for window in getbufvar(buffer, '&modified', false) ? [] : win_findbuf(buffer)
    win_execute(window, 'silent! close')
  endfor
enddef

# Writes the lines of the current buffer to a file. With :saveas, the buffer has the name of the file already, and
# composes no more.
def Save(path: string)
  try
    writefile(getline(1, '$'), path)
  catch /^Vim\%((\a\+)\)\=:E482/
    words.Complain($'reel: storage: cannot write {path}')
    return
  endtry
  if expand('%:p') ==# path
    unlet! b:reel_compose
    setlocal nomodified
  endif
  echo $'"{path}" written; nothing sent'
enddef
