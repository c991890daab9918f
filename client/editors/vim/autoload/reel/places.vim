vim9script

# Goes to messages in the buffer of a conversation: the next one, or that of a hit.

import autoload './hits.vim'
import autoload './lines.vim'

# Moves the cursor by v:count1 headings; stays if there is none.
export def Go(direction: number)
  final rows = b:reel_rows
  var [row, found, left] = [line('.') - 1 + direction, -1, v:count1]
  while left > 0 && row >= 0 && row < len(rows)
    if type(rows[row]) == v:t_list
      [found, left] = [row, left - 1]
    endif
    row += direction
  endwhile
  if found >= 0
    normal! m'
    cursor(found + 1, 1)
  endif
enddef

# Maps ]] and [[ in the current buffer, also for operators and in visual mode.
export def Map()
  for [key, direction] in [[']]', 1], ['[[', -1]]
    for mode in ['n', 'x', 'o']
      execute $'{mode}noremap <buffer> <silent> {key} <ScriptCmd>reel#places#Go({direction})<CR>'
    endfor
  endfor
enddef

# Goes to the hit that a conversation was opened for, in the window of its buffer, once the message is whole: its heading
# has come, and that of a later message, or all.
export def Arrive(conversation: dict<any>, patch: dict<any>)
  final hit = conversation.target
  const window = bufwinid(conversation.buffer)
  if empty(hit) || window < 0
    return
  endif
  const seq = hit.role == 'system' ? 0 : hit.seq
  const seqs = patch.headings->mapnew((_, heading) => heading[1] == 'system' ? 0 : heading[2] ?? -1)
  hit.begun = hit->get('begun', false) || seqs->index(seq) >= 0
  if patch.more && !(hit.begun && max(seqs) > seq)
    return
  endif
  conversation.target = {}
  const [first, last] = Place(conversation, hit)
  const [number, column] = Found(getbufline(conversation.buffer, first, last), hits.Contexts(hit))
  const view = number < 0 ? 'zt' : 'zz'
  win_execute(window, $'call cursor({first + max([number, 0])}, {column + 1}) | normal! zv{view}')
enddef

# Returns the first and the last line of a hit's message; if that is not there, of the message before.
def Place(conversation: dict<any>, hit: dict<any>): list<number>
  var [first, last, seq, line] = [1, len(lines.Rows(conversation)), 0, 0]
  for entry in lines.Rows(conversation)
    line += 1
    if type(entry) != v:t_list
      continue
    elseif hit.role == 'system' ? entry[0] != 'system' : entry[0] == 'draft' || entry[1] > hit.seq
      last = line - 1
      break
    endif
    [first, seq] = [line, entry[1]]
  endfor
  if hit.role != null && hit.role != 'system' && seq != hit.seq
    echo $'{conversation.name}: #{hit.seq} is not in the conversation any more; search again to see it'
  endif
  return [first, max([first, last])]
enddef

# Returns the number of the first line, from 0, that has one of some texts, and how many bytes come before the match in
# it; [-1, 0] if there is none.
def Found(shown: list<string>, contexts: list<list<any>>): list<number>
  for [text, offset] in contexts
    for [number, line] in shown->items()
      const column = stridx(line, text)
      if column >= 0
        return [number, column + offset]
      endif
    endfor
  endfor
  return [-1, 0]
enddef
