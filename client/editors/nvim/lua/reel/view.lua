--- Lays out a conversation as Markdown: messages in, sections out. Pure: no editor, no connection.
---
--- A section is {lines, levels, marks}: `levels` has a value of 'foldexpr' for each line, `marks` is a list of
--- {row = (from 0, in the section), text, colour}.

local M = {}

local COLOURS = { system = 'ReelSystem', user = 'ReelUser', assistant = 'ReelAssistant', tool = 'ReelTool' }

local function section()
  return { lines = {}, levels = {}, marks = {} }
end

local function write(into, text, folded)
  for index, line in ipairs(vim.split(text, '\n', { plain = true })) do
    table.insert(into.lines, line)
    table.insert(into.levels, folded and (index == 1 and '>1' or '1') or '0')
  end
end

local function blank(into)
  write(into, '')
end

--- Join words to one line: names and ids are other people's text, and a line break would begin another line.
local function joined(...)
  return (table.concat({ ... }, ' '):gsub('[\r\n]+', ' '))
end

--- Return the line above a block.
local function label(...)
  return joined('###', ...)
end

--- Return a text between fences that are longer than any in it.
local function fenced(text, language)
  local longest = 2
  for ticks in text:gmatch '`+' do
    longest = math.max(longest, #ticks)
  end
  local fence = ('`'):rep(longest + 1)
  return ('%s%s\n%s\n%s'):format(fence, language, text, fence)
end

--- Return how many bytes a text in Base64 encodes, with or without padding.
local function size(base64)
  return math.floor(#base64:gsub('=+$', '') * 3 / 4)
end

local function media(block)
  local words = { 'media', block.mime_type }
  table.insert(words, block.name)
  table.insert(words, block.url or ('%d bytes'):format(size(block.data_base64)))
  return label(unpack(words))
end

--- A function for each type of block: returns its text, and whether it is folded. `tools` maps the id of a call to the
--- name of its tool.
local BLOCKS

--- Return the text of a block of any type, and whether it is folded.
local function shown(block, tools)
  local show = BLOCKS[block.type]
  if show then
    return show(block, tools)
  end
  return label('block of type', block.type, '(a newer plug-in can show it)'), false
end

local function content(parts, tools)
  if type(parts) == 'string' then
    return parts
  end
  return table.concat(vim.tbl_map(function(block)
    return (shown(block, tools))
  end, parts), '\n')
end

BLOCKS = {
  text = function(block)
    return block.text, false
  end,
  thinking = function(block)
    return label 'thinking' .. '\n' .. block.text, true
  end,
  redacted_thinking = function(block)
    return label(('thinking, redacted (%d characters)'):format(vim.fn.strchars(block.data))), false
  end,
  tool_call = function(block, tools)
    tools[block.id] = block.name
    return label('call', block.name, block.id) .. '\n' .. fenced(block.arguments, 'json'), true
  end,
  tool_result = function(block, tools)
    local id, name = block.tool_call_id, tools[block.tool_call_id]
    local what = block.is_error and 'error' or 'result'
    local title = name and label(what, 'of', name, id) or label(what, id)
    return title .. '\n' .. fenced(content(block.content, tools), ''), true
  end,
  media = function(block)
    return media(block), false
  end,
  opaque = function(block)
    return label('opaque block of', block.provider) .. '\n' .. fenced(block.data_json, 'json'), true
  end,
}

local function head(into, colour, title, note)
  table.insert(into.marks, { row = #into.lines, text = note, colour = colour })
  write(into, joined('##', title))
  blank(into)
end

--- Return the section of a message: a heading, and its blocks with a blank line after each.
--- @param tools table the name of each tool by the id of its call; calls of this message are added
--- @param clock function returns the text of a time in milliseconds since the epoch
function M.message(message, tools, clock)
  local into = section()
  local title = ('%s #%d'):format(message.role, message.seq)
  head(into, COLOURS[message.role] or 'ReelDraft', title, '· ' .. clock(message.sent or message.time))
  for _, block in ipairs(message.content) do
    write(into, shown(block, tools))
    blank(into)
  end
  return into
end

--- Return the section of the system prompt.
function M.system(text)
  local into = section()
  head(into, COLOURS.system, 'system', '')
  write(into, text)
  blank(into)
  return into
end

--- Return the section of what another client is writing; `client` is its name, nil if it has none.
function M.draft(client, text)
  local into = section()
  head(into, 'ReelDraft', 'assistant · writing…' .. (client and (' (%s)'):format(client) or ''), '')
  write(into, text)
  blank(into)
  return into
end

--- Return the section that shows a problem.
function M.notice(text)
  local into = section()
  write(into, joined(('*%s*'):format(text)))
  return into
end

--- Return the section that says that this is not the current conversation.
function M.past(name, seq)
  return M.notice(('%s as it was at #%d (:Reel open %s shows it as it is now)'):format(name, seq, name))
end

--- Return a time in local time, with the date, because a buffer may stay open past midnight.
function M.clock(time)
  return os.date('%Y-%m-%d %H:%M:%S', math.floor(time / 1000))
end

return M
