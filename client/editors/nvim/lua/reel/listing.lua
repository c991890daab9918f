--- The buffer reel-list:// with the conversations, a line for each; <CR> opens one.

local scratch = require 'reel.scratch'

local M = {}

local NAME = 'reel-list://'
local shown = nil -- what is listed, as reel.picker has it

--- Show conversations in a window; see reel.picker.
function M.show(given)
  shown = given
  local buffer = vim.fn.bufadd(NAME)
  vim.bo[buffer].buftype = 'nofile' -- before it is loaded: it is not a file, and not reported as a new one
  local window = vim.fn.bufwinid(buffer)
  if window ~= -1 then
    vim.api.nvim_set_current_win(window)
  else
    vim.cmd('silent sbuffer ' .. buffer)
  end
  scratch.prepare_list(buffer, 'wipe', { ['<CR>'] = "<Cmd>lua require('reel.listing').open()<CR>" })
  vim.cmd 'setlocal nowrap' -- one conversation a line, also in a narrow window
  scratch.set_lines(buffer, 0, -1, vim.tbl_map(given.line, given.items))
end

--- Open the conversation on the cursor's line, in the window that was left for the list.
function M.open()
  local agent = shown.items[vim.api.nvim_win_get_cursor(0)[1]]
  vim.cmd 'silent! close' -- fails in the last window
  if agent then
    shown.choose(agent)
  end
end

return M
