vim9script

# Compose buffers, reel-compose://NAME: a message is written in a buffer, and :write sends it.

import autoload './link.vim'
import autoload './sending.vim'

# Shows the compose buffer of a conversation in a window below; text that was not sent is still in it.
export def Open(conversation: dict<any>)
  const buffer = bufadd($'reel-compose://{conversation.name}')
  const new = !bufloaded(buffer)
  # This comes before loading: otherwise Vim looks for a file of this name.
  setbufvar(buffer, '&buftype', 'acwrite')
  setbufvar(buffer, '&bufhidden', 'hide')
  if !win_gotoid(bufwinid(buffer))
    execute 'silent botright sbuffer' buffer
    execute 'resize' min([12, &lines / 3])
  endif
  if new
    setlocal filetype=markdown
    b:reel_conversation = conversation.id
    b:reel_compose = {agent: conversation.agent, name: conversation.name}
    autocmd_add([{group: 'reel', event: 'BufWriteCmd', bufnr: buffer, cmd: 'call reel#compose#Write()', replace: true}])
  endif
  echo $'To {conversation.name}: :write sends this buffer'
enddef

# Sends the text of the current buffer. If that fails, the buffer keeps its text and stays modified.
export def Write()
  try
    const message = sending.Send(b:reel_compose, getline(1, '$')->join("\n"))
    silent :%delete _
    setlocal nomodified
    echo message
  catch /^reel: /
    link.Complain(v:exception)
  endtry
enddef
