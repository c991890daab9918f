--- The text for a status line.

local ask = require 'reel.ask'
local buffer = require 'reel.buffer'

local M = {}

--- Return the words about a conversation: its name, and what is going on. Pure but for the running command.
--- A status line interprets '%', and names are other people's text: each is replaced.
function M.text(conversation)
  local words = { conversation.name }
  if conversation.past then
    table.insert(words, ('as it was at #%d'):format(conversation.past))
  end
  if conversation.away then
    table.insert(words, 'away')
  elseif conversation.reading then
    table.insert(words, 'reading')
  end
  vim.list_extend(words, conversation.away and {} or buffer.writers(conversation.buffer))
  if ask.is_running(conversation) then
    table.insert(words, 'asking')
  end
  return (table.concat(words, ' · '):gsub('[%c%%]', '?'))
end

return M
