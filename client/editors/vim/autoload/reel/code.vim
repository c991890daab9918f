vim9script

# Finds the last answer and the last code block of a conversation. No I/O.

# A fence that opens a code block, and the word after it (CommonMark, section 4.5).
const OPENING = '^ \{,3}\(`\{3,}\%([^`]*$\)\@=\|\~\{3,}\)\s*\(\S*\)'

# Returns the text of the last answer: {text, seq}; {} if there is none. A message of calls alone is not one.
export def Answer(messages: list<dict<any>>): dict<any>
  for message in messages->copy()->reverse()
    const texts = Texts(message)
    if !empty(texts)
      return {text: texts->join("\n\n"), seq: message.seq}
    endif
  endfor
  return {}
enddef

# Returns the texts of a message, if an assistant wrote it.
def Texts(message: dict<any>): list<string>
  final texts: list<string> = []
  if message.role == 'assistant'
    for block in message.content
      texts->extend(block.type == 'text' ? [block.text] : [])
    endfor
  endif
  return texts
enddef

# Returns the last code block that an assistant wrote: {lines, language, seq}; {} if there is none.
export def Last(messages: list<dict<any>>): dict<any>
  for message in messages->copy()->reverse()
    for text in Texts(message)->reverse()
      final found = LastIn(text)
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
