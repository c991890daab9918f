--- Finds the last answer and the last code block of a conversation. Pure.

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

--- Return the texts of a message, the newest last.
local function texts_of(message)
  local texts = {}
  for _, block in ipairs(message.content) do
    table.insert(texts, block.type == 'text' and block.text or nil)
  end
  return texts
end

--- Return the text of the last answer, as {lines, seq}; nil if there is none. A message of calls alone is not one.
function M.answer(messages)
  for index = #messages, 1, -1 do
    local texts = messages[index].role == 'assistant' and texts_of(messages[index]) or {}
    if #texts > 0 then
      return { lines = vim.split(table.concat(texts, '\n\n'), '\n', { plain = true }), seq = messages[index].seq }
    end
  end
end

--- Return the last code block that an assistant wrote, as {lines, language, seq}; nil if there is none.
function M.last(messages)
  for index = #messages, 1, -1 do
    local message = messages[index]
    local texts = message.role == 'assistant' and texts_of(message) or {}
    for position = #texts, 1, -1 do
      local found = last_in(texts[position])
      if found then
        found.seq = message.seq
        return found
      end
    end
  end
end

return M
