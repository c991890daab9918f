--- Lets the user choose a conversation, in a buffer or with the picker of another plug-in.

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

--- Show conversations with the picker that is set; `choose(agent)` is called with the one that is chosen.
function M.show(agents, choose)
  require(MODULES[config.picker]).show(agents, choose)
end

--- Return the names of the pickers, sorted.
function M.names()
  local names = vim.tbl_keys(MODULES)
  table.sort(names)
  return names
end

return M
