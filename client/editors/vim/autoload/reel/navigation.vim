vim9script

# Goes from message to message in the buffer of a conversation.

# Moves the cursor by v:count1 headings; stays if there is none. Headings are stored with the buffer: a line of a
# message may look like one.
export def Go(direction: number)
  const [here, count] = [line('.'), v:count1]
  final headings: list<number> = b:reel_headings->copy()
  headings->filter((_, heading) => direction > 0 ? heading > here : heading < here)
  if direction < 0
    headings->reverse()
  endif
  if !empty(headings)
    normal! m'
    cursor(headings[min([count, len(headings)]) - 1], 1)
  endif
enddef

# Maps ]] and [[ in the current buffer, also for operators and in visual mode.
export def Map()
  for [key, direction] in [[']]', 1], ['[[', -1]]
    for mode in ['n', 'x', 'o']
      execute $'{mode}noremap <buffer> <silent> {key} <ScriptCmd>reel#navigation#Go({direction})<CR>'
    endfor
  endfor
enddef
