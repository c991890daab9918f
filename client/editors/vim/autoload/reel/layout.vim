vim9script

# A conversation as people read it: markdown, with a level of folding for each line. No I/O.

# Lays the prompt out; gives lines, and their levels as 'foldexpr' has them.
export def Prompt(text: string): list<list<any>>
  return text == '' ? [[], []] : Under('## system', Said(text))
enddef

# Lays one message out. tools: the name of each tool by the id of its call; what is called here is put in.
export def Message(message: dict<any>, tools: dict<string>): list<list<any>>
  const time = strftime('%Y-%m-%d %H:%M:%S', message.time / 1000)
  const blocks = message.content->mapnew((_, block) => Block(block, tools))
  return Under($'## {message.role} #{message.seq} {time}', Joined(blocks))
enddef

# Lays out what somebody is writing.
export def Draft(connection: string, text: string): list<list<any>>
  return Under($'## being written by connection {connection}', Said(text))
enddef

def Block(block: dict<any>, tools: dict<string>): list<list<any>>
  if block.type == 'text'
    return Said(block.text)
  elseif block.type == 'thinking'
    return Folded('[thinking]', block.text)
  elseif block.type == 'redacted_thinking'
    return Said($'[thinking, redacted: {strchars(block.data)} characters]')
  elseif block.type == 'tool_call'
    tools[block.id] = block.name
    return Folded($'[call {block.name}] {block.id}', block.arguments)
  elseif block.type == 'tool_result'
    return Result(block, tools)
  elseif block.type == 'media'
    return Said(Media(block))
  elseif block.type == 'opaque'
    return Folded($'[opaque block of {block.provider}]', block.data_json)
  endif
  return Said($'[a block of type {block.type}; a newer plug-in can show it]')
enddef

def Result(block: dict<any>, tools: dict<string>): list<list<any>>
  const what = block.is_error ? 'error' : 'result'
  const of = tools->has_key(block.tool_call_id) ? ' of ' .. tools[block.tool_call_id] : ''
  const title = $'[{what}{of}] {block.tool_call_id}'
  if type(block.content) == v:t_string
    return Folded(title, block.content)
  endif
  const inner = Joined(block.content->mapnew((_, each) => Block(each, tools)))
  return Folded(title, inner[0]->join("\n"))
enddef

def Media(block: dict<any>): string
  const size = $'{strlen(get(block, 'data_base64', '') ?? '') * 3 / 4} bytes'
  const words = ['media', block.mime_type, get(block, 'name', '') ?? '', (get(block, 'url', '') ?? '') ?? size]
  return $'[{words->copy()->filter((_, word) => word != '')->join(' ')}]'
enddef

# --- lines and levels

def Said(text: string): list<list<any>>
  const lines = text->split("\n", true)
  return [lines, repeat(['0'], len(lines))]
enddef

def Folded(title: string, text: string): list<list<any>>
  const lines = [title] + text->split("\n", true)
  return [lines, ['>1'] + repeat(['1'], len(lines) - 1)]
enddef

def Under(heading: string, body: list<list<any>>): list<list<any>>
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
