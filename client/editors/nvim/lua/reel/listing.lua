--- The buffer reel-list:// with the conversations, a line for each; <CR> opens one.

local summary = require 'reel.summary'

local M = {}

local NAME = 'reel-list://'
local shown = nil -- what is listed, as reel.picker has it

local function prepare(buffer)
  for name, value in pairs { buftype = 'nofile', bufhidden = 'wipe', swapfile = false, modeline = false } do
    vim.bo[buffer][name] = value
  end
  local function map(key, command)
    vim.api.nvim_buf_set_keymap(buffer, 'n', key, command, { noremap = true, silent = true, nowait = true })
  end
  map('<CR>', "<Cmd>lua require('reel.listing').open()<CR>")
  map('q', '<Cmd>silent! close<CR>')
end

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
  prepare(buffer)
  vim.bo[buffer].modifiable = true
  vim.api.nvim_buf_set_lines(buffer, 0, -1, false, summary.lines(given.items))
  vim.bo[buffer].modifiable = false
  vim.bo[buffer].modified = false
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
