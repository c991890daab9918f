vim9script

# Buffers that list something to choose from.

# Shows the buffer of a name, in its window or a new one. keys: what each of its keys runs; q closes it.
export def Show(name: string, keys: dict<string>)
  const buffer = bufadd(name)
  # This comes before loading: otherwise Vim looks for a file of this name, and reports a directory because of the slash
  # at its end.
  setbufvar(buffer, '&buftype', 'nofile')
  bufload(buffer)
  if !win_gotoid(bufwinid(buffer))
    execute 'silent sbuffer' buffer
  endif
  # What is listed is other people's text: a modeline in it must not set options.
  setlocal noswapfile nomodeline
  for [key, command] in keys->extendnew({q: 'silent! close'})->items()
    execute $'nnoremap <buffer> <silent> <nowait> {key} <ScriptCmd>{command}<CR>'
  endfor
enddef

# Puts lines below one of the current buffer, in place of what is there.
export def Put(below: number, lines: list<string>)
  setlocal modifiable
  silent deletebufline('%', below + 1, '$')
  setline(below + 1, lines)
  setlocal nomodifiable nomodified
enddef
