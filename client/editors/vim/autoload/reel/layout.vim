vim9script

# Lays out a conversation as Markdown, with a fold level for each line. No I/O.

# Returns the lines of the system prompt, and their levels as 'foldexpr' has them.
export def Prompt(text: string): list<list<any>>
  return text == '' ? [[], []] : Section('## system', Unfolded(text))
enddef

# Returns the lines of one message. tools: the name of each tool by the id of its call; calls of this message are added.
export def Message(message: dict<any>, tools: dict<string>): list<list<any>>
  const blocks = message.content->mapnew((_, block) => Block(block, tools))
  return Section($'## {message.role} #{message.seq} · {Time(get(message, 'sent', message.time))}', Joined(blocks))
enddef

# Returns the lines of what another client is writing. client: its name, '' if it has none.
export def Draft(client: string, text: string): list<list<any>>
  return Section(OneLine('## assistant · writing…' .. (client == '' ? '' : $' ({client})')), Unfolded(text))
enddef

# Returns the line that says that this is not the current conversation.
export def Past(name: string, seq: number): list<list<any>>
  return Unfolded($'*{name} as it was at #{seq} (:Reel open {name} shows it as it is now)*')
enddef

# Returns the error that there is no conversation of a name, with what creates it.
export def Unknown(name: string): string
  return $'not_found: no conversation {name} (:Reel new {name} creates it)'
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

def Block(block: dict<any>, tools: dict<string>): list<list<any>>
  if block.type == 'text'
    return Unfolded(block.text)
  elseif block.type == 'thinking'
    return Folded(['thinking'], block.text)
  elseif block.type == 'redacted_thinking'
    return Unfolded(Label([$'thinking, redacted ({strchars(block.data)} characters)']))
  elseif block.type == 'tool_call'
    tools[block.id] = block.name
    return Folded(['call', block.name, block.id], Fenced(block.arguments, 'json'))
  elseif block.type == 'tool_result'
    return Result(block, tools)
  elseif block.type == 'media'
    return Unfolded(Media(block))
  elseif block.type == 'opaque'
    return Folded(['opaque block of', block.provider], Fenced(block.data_json, 'json'))
  endif
  return Unfolded(Label(['block of type', block.type, '(a newer plug-in can show it)']))
enddef

def Result(block: dict<any>, tools: dict<string>): list<list<any>>
  const name = tools->has_key(block.tool_call_id) ? ['of', tools[block.tool_call_id]] : []
  const label = [block.is_error ? 'error' : 'result'] + name + [block.tool_call_id]
  if type(block.content) == v:t_string
    return Folded(label, Fenced(block.content, ''))
  endif
  const inner = block.content->mapnew((_, each) => Block(each, tools)[0]->join("\n"))
  return Folded(label, Fenced(inner->join("\n"), ''))
enddef

def Media(block: dict<any>): string
  # With or without padding.
  const bytes = (get(block, 'data_base64', '') ?? '')->trim('=', 2)->strlen() * 3 / 4
  const words = ['media', block.mime_type, get(block, 'name', '') ?? '', (get(block, 'url', '') ?? '') ?? $'{bytes} bytes']
  return Label(words->copy()->filter((_, word) => word != ''))
enddef

# --- lines and levels

# Returns the line above a block.
def Label(words: list<string>): string
  return OneLine('### ' .. words->join())
enddef

# Returns a text between fences that are longer than any in it.
def Fenced(text: string, language: string): string
  const longest = max([2] + text->split('[^`]\+')->mapnew((_, ticks) => len(ticks)))
  const fence = repeat('`', longest + 1)
  return [fence .. language, text, fence]->join("\n")
enddef

def Unfolded(text: string): list<list<any>>
  const lines = text->split("\n", true)
  return [lines, repeat(['0'], len(lines))]
enddef

def Folded(label: list<string>, text: string): list<list<any>>
  const lines = [Label(label)] + text->split("\n", true)
  return [lines, ['>1'] + repeat(['1'], len(lines) - 1)]
enddef

def Section(heading: string, body: list<list<any>>): list<list<any>>
  return [[heading, ''] + body[0] + [''], ['0', '0'] + body[1] + ['0']]
enddef

def Joined(parts: list<list<list<any>>>): list<list<any>>
  final lines: list<string> = []
  final levels: list<string> = []
  for [its_lines, its_levels] in parts
    if !empty(lines)
      lines->add('')
      levels->add('0')
    endif
    lines->extend(its_lines)
    levels->extend(its_levels)
  endfor
  return [lines, levels]
enddef
