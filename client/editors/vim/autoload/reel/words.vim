vim9script

# What a user is told: times, names, errors.

# How many of the conversations that may be meant are named.
const SHOWN = 6

# Runs a command, and shows the message that it returns, or its error.
export def Say(Do: func(): string)
  try
    const message = Do()
    if message != ''
      redraw # otherwise Vim waits for a key if something was said before
      echo message
    endif
  catch /^reel: /
    Complain(v:exception)
  endtry
enddef

# Shows an error in one line.
export def Complain(error: string)
  redraw
  echohl ErrorMsg
  echomsg Plain(error)
  echohl None
enddef

# Returns an error in one line, without its name, which is for programs.
export def Plain(error: string): string
  return error->substitute('^\(reel: \)\=[a-z_]\+: ', '', '')->substitute('\n', ' ', 'g')
enddef

# Returns the error that there is no conversation of a name, with what creates it.
export def Unknown(name: string): string
  return $'not_found: no conversation {name} (:Reel new {name} creates it)'
enddef

# Returns the error that a short form stands for several conversations.
export def Ambiguous(typed: string, agents: list<dict<any>>): string
  const names = agents[: SHOWN - 1]->mapnew((_, agent) => agent.name)
  const listed = names->join(', ') .. (len(agents) > SHOWN ? ', ...' : '')
  return $'not_found: no conversation {typed}, but several are meant by it: {listed}'
enddef

# Returns a number with a noun, in the plural if the number is not 1.
export def Count(number: number, thing: string): string
  return $'{number} {thing}{number == 1 ? '' : 's'}'
enddef

# Returns a time in local time.
export def Time(milliseconds: number): string
  return strftime('%Y-%m-%d %H:%M:%S', milliseconds / 1000)
enddef

# Returns a time in local time, without the seconds.
export def Minute(milliseconds: number): string
  return strftime('%Y-%m-%d %H:%M', milliseconds / 1000)
enddef

# Joins the lines of a text: names, titles and ids are other people's, and a line break would begin another line.
export def OneLine(text: string): string
  return text->substitute('[\r\n]\+', ' ', 'g')
enddef
