if !has('vim9script') || v:version < 900 || !has('channel') || !has('timers') || exists('g:loaded_reel')
  " Too old (see :help reel-requirements), or loaded already.
  finish
endif
vim9script
g:loaded_reel = true

import autoload 'reel/commands.vim'
import autoload 'reel/complete.vim'
import autoload 'reel/buffers.vim'

# Not every plug-in manager makes the tags of the help, and nobody does without one.
const DOC = expand('<sfile>:p:h:h') .. '/doc'
if getftime(DOC .. '/tags') < getftime(DOC .. '/reel.txt') && filewritable(DOC) == 2
  execute 'silent! helptags' fnameescape(DOC)
endif

command -nargs=* -range -complete=customlist,complete.Words Reel commands.Run(<q-args>, <range>, <line1>, <line2>)

augroup reel
  autocmd!
  autocmd BufReadCmd reel://* commands.Read(expand('<afile>'))
  autocmd BufEnter reel://*,reel-compose://* buffers.Enter(str2nr(expand('<abuf>')))
augroup END
