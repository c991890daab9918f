--- Finds the code blocks of a conversation. Pure.

local M = {}

--- Return the fence that opens a code block on a line, and its language; nil if none does (CommonMark, section 4.5).
local function opening(line)
  local ticks, rest = line:match '^ ? ? ?(```+)%s*(.*)$'
  if ticks and not rest:find('`', 1, true) then
    return ticks, rest:match '^%S*'
  end
  local tildes, after = line:match '^ ? ? ?(~~~+)%s*(.*)$'
  if tildes then
    return tildes, after:match '^%S*'
  end
end

--- Return whether a line closes the block that a fence opened.
local function closes(line, fence)
  local closing = line:match '^ ? ? ?([`~]+)%s*$'
  return closing ~= nil and #closing >= #fence and closing == fence:sub(1, 1):rep(#closing)
end

--- Return the last code block of a Markdown text, as {lines, language}; nil if there is none.
local function last_in(text)
  local last, block, fence
  for _, line in ipairs(vim.split(text, '\n', { plain = true })) do
    if not block then
      local found, language = opening(line)
      if found then
        block, fence = { lines = {}, language = language }, found
        last = block
      end
    elseif closes(line, fence) then
      block = nil
    else
      table.insert(block.lines, line)
    end
  end
  return last
end

--- Return the last code block that an assistant wrote, as {lines, language, seq}; nil if there is none.
function M.last(messages)
  for index = #messages, 1, -1 do
    local message = messages[index]
    for position = message.role == 'assistant' and #message.content or 0, 1, -1 do
      local block = message.content[position]
      local found = block.type == 'text' and last_in(block.text)
      if found then
        found.seq = message.seq
        return found
      end
    end
  end
end

return M
