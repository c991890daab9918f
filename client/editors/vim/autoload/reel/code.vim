vim9script

# Finds the code blocks of a conversation. No I/O.

# A fence that opens a code block, and the word after it (CommonMark, section 4.5).
const OPENING = '^ \{,3}\(`\{3,}\%([^`]*$\)\@=\|\~\{3,}\)\s*\(\S*\)'

# Returns the last code block that an assistant wrote: {lines, language, seq}; {} if there is none.
export def Last(messages: list<dict<any>>): dict<any>
  for message in messages->copy()->reverse()
    final texts = message.role == 'assistant' ? message.content->copy()->filter((_, block) => block.type == 'text') : []
    for block in texts->reverse()
      final found = LastIn(block.text)
      if !empty(found)
        return found->extend({seq: message.seq})
      endif
    endfor
  endfor
  return {}
enddef

def LastIn(text: string): dict<any>
  var last: dict<any> = {}
  var fence = ''
  for line in text->split("\n", true)
    if fence != '' && Closes(line, fence)
      fence = ''
    elseif fence != ''
      last.lines->add(line)
    elseif line =~ OPENING
      const [_, opening, language; _] = matchlist(line, OPENING)
      fence = opening
      last = {lines: [], language: language}
    endif
  endfor
  return last
enddef

# Returns whether a line closes the block that a fence opened.
def Closes(line: string, fence: string): bool
  const closing = matchstr(line, '^ \{,3}\zs[`~]\+\ze\s*$')
  return strlen(closing) >= strlen(fence) && closing ==# repeat(fence[0], strlen(closing))
enddef
