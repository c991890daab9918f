vim9script

# The text for a status line.

import autoload './ask.vim'
import autoload './buffers.vim'
import autoload './link.vim'

# Returns the words about the conversation of a buffer: its name, and what is going on; '' if it has none. A status line
# interprets '%', and names are other people's text: each is replaced.
export def Text(buffer: number = bufnr()): string
  const conversation = buffers.Of(buffer)
  if empty(conversation)
    return ''
  endif
  final words = [conversation.name]
  if conversation.past > 0
    words->add($'as it was at #{conversation.past}')
  endif
  if !link.IsOpen() || conversation.gone
    words->add('away')
  elseif conversation.reading
    words->add('reading')
  endif
  words->extend(conversation.writers)
  if ask.IsRunning(conversation)
    words->add('asking')
  endif
  return words->join(' · ')->substitute('[[:cntrl:]%]', '?', 'g')
enddef
