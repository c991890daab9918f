vim9script

# The lines of a buffer that shows a conversation, and the patches that change them.
#
# A sheet has the buffer, the line below the rows that is none of them, or '' (below), who is writing, and whether it
# returns: then the buffer keeps what an earlier subscription left, and what the new one sends is collected in
# b:reel_new_lines and b:reel_new_rows; once that is whole, only what differs is replaced. So neither a cursor nor a
# fold moves when a lost connection comes back.
#
# b:reel_rows has an entry for each row: its fold level as 'foldexpr' has it, or the heading that it is, [role, seq],
# which 'foldexpr' takes for 0. A list in Vim is linked: this one is changed in a moment near its ends and near the last
# change, however long it is, and nothing in it has to be renumbered. It is no part of the sheet, no variable for it has
# a type, and no function takes it: each time Vim would look at each entry, to check the type.

import autoload './fences.vim'
import autoload './words.vim'

# Goes to the end. By itself, Vim scrolls to the cursor only in the current window; line('w0') makes it do so in any.
const END = "call cursor('$', 1) | call line('w0')"

# Returns an empty sheet for a buffer.
export def New(buffer: number): dict<any>
  final sheet: dict<any> = {buffer: buffer}
  Clear(sheet)
  return sheet
enddef

# Removes everything.
export def Clear(sheet: dict<any>)
  setbufvar(sheet.buffer, '&modifiable', true)
  silent deletebufline(sheet.buffer, 1, '$')
  setbufvar(sheet.buffer, '&modifiable', false)
  setbufvar(sheet.buffer, 'reel_rows', [])
  sheet->extend({below: '', writers: [], returns: false})
enddef

# Begins with the patches of a new subscription.
export def Begin(sheet: dict<any>)
  sheet->extend({writers: [], returns: !empty(Rows(sheet))})
  Forget(sheet)
enddef

def Forget(sheet: dict<any>)
  setbufvar(sheet.buffer, 'reel_new_lines', [])
  setbufvar(sheet.buffer, 'reel_new_rows', [])
enddef

# Returns the entries of the rows.
export def Rows(sheet: dict<any>): any
  return getbufvar(sheet.buffer, 'reel_rows')
enddef

# Applies a push of lines.
export def Apply(sheet: dict<any>, patch: dict<any>)
  final lines: list<string> = patch.lines
  const [first, last] = patch.replace
  Label(lines, patch)
  Enter(sheet, patch)
  if !sheet.returns
    Write(sheet, first, last, lines)
    for [begin, _] in patch.folds
      if begin < first # from a line that is written on, Vim looks for where its fold ends
        Write(sheet, begin, begin + 1, getbufline(sheet.buffer, begin + 1))
      endif
    endfor
  else
    Splice(sheet, 'reel_new_lines', first, last, lines)
    if !patch.more
      Merge(sheet)
    endif
  endif
  fences.Highlight(sheet.buffer, lines)
  if !patch.more
    sheet.writers = Writers(sheet)
  endif
enddef

# Enters the headings and folds of a patch into the rows. Those of a fold may have come with earlier patches.
def Enter(sheet: dict<any>, patch: dict<any>)
  const name = sheet.returns ? 'reel_new_rows' : 'reel_rows'
  Splice(sheet, name, patch.replace[0], patch.replace[1], repeat([0], len(patch.lines)))
  final rows = getbufvar(sheet.buffer, name)
  for [row, role, seq, _] in patch.headings
    rows[row] = [role, seq ?? 0]
  endfor
  for [begin, end] in patch.folds
    rows[begin] = '>1'
    for row in range(begin + 1, end)
      rows[row] = 1
    endfor
  endfor
enddef

# Replaces some items of a list of the buffer, from one up to, but not including, another.
def Splice(sheet: dict<any>, name: string, first: number, last: number, items: list<any>)
  final list = getbufvar(sheet.buffer, name)
  if last > first
    list->remove(first, last - 1)
  endif
  list->extend(items, first)
enddef

# Replaces the lines that differ from those that were collected, in their text or in whether a fold begins.
def Merge(sheet: dict<any>)
  const old = getbufline(sheet.buffer, 1, len(Rows(sheet)))
  final lines = getbufvar(sheet.buffer, 'reel_new_lines')
  final rows = getbufvar(sheet.buffer, 'reel_new_rows')
  final old_rows = Rows(sheet)
  const least = min([len(old), len(lines)])
  var [above, below] = [0, 0]
  while above < least && old[above] ==# lines[above] && type(old_rows[above]) == type(rows[above])
    above += 1
  endwhile
  while below < least - above && old[-1 - below] ==# lines[-1 - below]
      && type(old_rows[-1 - below]) == type(rows[-1 - below])
    below += 1
  endwhile
  setbufvar(sheet.buffer, 'reel_rows', rows)
  sheet.returns = false
  Write(sheet, above, len(old) - below, above + below < len(lines) ? lines[above : len(lines) - below - 1] : [])
  Forget(sheet)
enddef

# Sets the line below the rows; '' removes it.
export def SetBelow(sheet: dict<any>, text: string)
  if text !=# sheet.below
    const first = len(Rows(sheet))
    const last = first + Size(sheet.below)
    sheet.below = text
    Write(sheet, first, last, text == '' ? [] : [text])
  endif
enddef

# Appends to lines what is shown at their ends: the times of headings, and the marks.
def Label(lines: list<string>, patch: dict<any>)
  const first = patch.replace[0]
  for [row, _, _, time] in patch.headings
    if time != null
      lines[row - first] ..= $' · {words.Time(time)}'
    endif
  endfor
  for [row, text] in patch.marks
    lines[row - first] ..= $' {text}'
  endfor
enddef

# Returns who is writing the drafts at the end, as their headings say it.
def Writers(sheet: dict<any>): list<string>
  final rows = Rows(sheet)
  final writers: list<string> = []
  for row in range(len(rows) - 1, 0, -1)
    if type(rows[row]) == v:t_list
      if rows[row][0] != 'draft'
        break
      endif
      writers->insert(getbufline(sheet.buffer, row + 1)[0]->substitute('^## assistant · ', '', ''))
    endif
  endfor
  return writers
enddef

# Returns how many lines a text below the rows has.
def Size(below: string): number
  return below == '' ? 0 : 1
enddef

# Replaces rows of the buffer, from one up to, but not including, another. The entries are replaced before: Vim looks at
# the fold levels of lines as they are written.
def Write(sheet: dict<any>, first: number, last: number, lines: list<string>)
  if last == first && empty(lines)
    return
  endif
  const buffer = sheet.buffer
  const views = win_findbuf(buffer)->mapnew((_, window) => [window, View(window, first, last, len(lines))])
  const both = min([last - first, len(lines)])
  setbufvar(buffer, '&modifiable', true)
  if both > 0
    setbufline(buffer, first + 1, lines[: both - 1])
  endif
  if len(lines) > both
    appendbufline(buffer, first + both, lines[both :])
  elseif last > first + both
    silent deletebufline(buffer, first + both + 1, last)
  endif
  if getbufinfo(buffer)[0].linecount > max([1, len(Rows(sheet)) + Size(sheet.below)])
    silent deletebufline(buffer, '$') # it was empty, which for Vim is one line
  endif
  setbufvar(buffer, '&modifiable', false)
  setbufvar(buffer, '&modified', false)
  for [window, command] in views
    win_execute(window, command)
  endfor
enddef

# Returns the command that keeps the view of a window when rows are replaced by others. A cursor on the last line stays
# on the last line, one in the rows keeps its row, and all other lines keep their place.
def View(window: number, first: number, last: number, size: number): string
  const [row, top] = [line('.', window), line('w0', window)]
  if row == line('$', window)
    return END
  endif
  return $'call winrestview({{lnum: {Moved(row, first, last, size)}, topline: {Moved(top, first, last, size)}}})'
enddef

# Returns where a line is after rows were replaced.
def Moved(line: number, first: number, last: number, size: number): number
  return line <= first ? line : line > last ? line + size - (last - first) : max([1, min([line, first + size])])
enddef
