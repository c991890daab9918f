--- Lets the user choose a conversation, in a buffer or with the picker of another plug-in.
---
--- A picker is a function that is called with {title, prompt, items, line, choose}: `line(item)` returns the text of an
--- item, `choose(item)` is called with the one that is chosen.

local config = require 'reel.config'

local M = {}

-- The module that shows the list, by the option 'picker'.
local MODULES = {
  buffer = 'reel.listing',
  select = 'reel.pickers.select',
  telescope = 'reel.pickers.telescope',
  ['fzf-lua'] = 'reel.pickers.fzf_lua',
  snacks = 'reel.pickers.snacks',
}

--- Show conversations with the picker that is set.
function M.show(given)
  require(MODULES[config.picker]).show(given)
end

--- Return the picker that is set, unless it is the buffer with the conversations, which can show nothing else.
function M.other()
  return config.picker ~= 'buffer' and M.show or nil
end

--- Return the names of the pickers, sorted.
function M.names()
  local names = vim.tbl_keys(MODULES)
  table.sort(names)
  return names
end

return M
