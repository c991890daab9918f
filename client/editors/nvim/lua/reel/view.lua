--- What a conversation looks like: markdown. Pure: messages in, sections out.
---
--- A section is {lines, levels, marks}: `levels` has a value for 'foldexpr' for each line, `marks` is a list of
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

--- A fence that is longer than any in the text.
local function fenced(text, language)
  local longest = 2
  for ticks in text:gmatch '`+' do
    longest = math.max(longest, #ticks)
  end
  local fence = ('`'):rep(longest + 1)
  return ('%s%s\n%s\n%s'):format(fence, language, text, fence)
end

local function size(base64)
  local _, padding = base64:sub(-2):gsub('=', '')
  return #base64 / 4 * 3 - padding
end

local function media(block)
  local name = block.name or 'media'
  if block.url then
    return ('![%s](%s) %s'):format(name, block.url, block.mime_type)
  end
  return ('![%s]() %s, %d bytes'):format(name, block.mime_type, size(block.data_base64))
end

local function parts(content)
  if type(content) == 'string' then
    return content
  end
  local texts = {}
  for _, block in ipairs(content) do
    local shown = block.type == 'text' and block.text or block.type == 'media' and media(block) or M.unknown(block)
    table.insert(texts, shown)
  end
  return table.concat(texts, '\n')
end

--- The line for a block that is not shown as text.
function M.unknown(block)
  return ('*%s%s*'):format(block.type, block.provider and ' of ' .. block.provider or '')
end

--- Each kind of block: its text, and whether it is folded.
local BLOCKS = {
  text = function(block)
    return block.text, false
  end,
  thinking = function(block)
    return '**thinking**\n' .. block.text, true
  end,
  tool_call = function(block)
    return ('**tool_call** %s `%s`\n%s'):format(block.name, block.id, fenced(block.arguments, 'json')), true
  end,
  tool_result = function(block)
    local failed = block.is_error and ' failed' or ''
    local text = parts(block.content)
    return ('**tool_result** `%s`%s\n%s'):format(block.tool_call_id, failed, fenced(text, '')), true
  end,
  media = function(block)
    return media(block), false
  end,
}

local function head(into, role, title, note)
  table.insert(into.marks, { row = #into.lines, text = note, colour = COLOURS[role] or 'ReelDraft' })
  write(into, '## ' .. title)
  blank(into)
end

--- The section of a message: a heading, and its blocks with a blank line after each.
--- @param clock function gives the text of a time in ms since the epoch
function M.message(message, clock)
  local into = section()
  head(into, message.role, ('%s %d'):format(message.role, message.seq), clock(message.time))
  for _, block in ipairs(message.content) do
    local show = BLOCKS[block.type] or function(other)
      return M.unknown(other), false
    end
    write(into, show(block))
    blank(into)
  end
  return into
end

--- The section of the system prompt.
function M.system(text)
  local into = section()
  head(into, 'system', 'system', '')
  write(into, text)
  blank(into)
  return into
end

--- The section of what another connection is writing.
function M.draft(connection, text)
  local into = section()
  head(into, 'draft', 'draft', ('being written on connection %d'):format(connection))
  write(into, text)
  blank(into)
  return into
end

--- The section that says what is wrong.
function M.notice(text)
  local into = section()
  write(into, ('*%s*'):format(text))
  return into
end

--- The time of day of today, and the date before it of any other day.
function M.clock(time)
  local seconds = math.floor(time / 1000)
  local today = os.date '%Y-%m-%d'
  local date = os.date('%Y-%m-%d', seconds)
  return (date == today and '' or date .. ' ') .. os.date('%H:%M:%S', seconds)
end

return M
