vim9script

# Sends a message of the user, and says which message it is.

import autoload './link.vim'

# Sends a text to a conversation, and returns the line to show; nothing is sent if the text is blank.
export def Send(conversation: dict<any>, text: string): string
  if trim(text) == ''
    return 'nothing sent'
  endif
  const reply = link.Command('add', {agent: conversation.agent, messages: [{role: 'user', content: text}]})
  const replaced = reply->has_key('replaced') ? $'; {Count(reply.replaced, 'character')} replaced by U+FFFD' : ''
  return $'{conversation.name}: added #{reply.first}{replaced}'
enddef

# Returns a number with a noun, in the plural if the number is not 1.
export def Count(number: number, thing: string): string
  return $'{number} {thing}{number == 1 ? '' : 's'}'
enddef
