--- Goes from message to message in the buffer of a conversation.

local M = {}

local KEYS = { [']]'] = 1, ['[['] = -1 }

--- Move the cursor by `v:count1` headings; stay if there is none.
function M.go(direction)
  local rows = require('reel.buffer').headings(vim.api.nvim_get_current_buf())
  local here = vim.api.nvim_win_get_cursor(0)[1] - 1
  local passed = vim.tbl_filter(function(row)
    return direction > 0 and row > here or direction < 0 and row < here
  end, rows)
  local count = math.min(vim.v.count1, #passed)
  local target = passed[direction > 0 and count or #passed - count + 1]
  if target then
    vim.cmd "normal! m'"
    vim.api.nvim_win_set_cursor(0, { target + 1, 0 })
  end
end

--- Map ]] and [[ in a buffer, also for operators and in visual mode.
function M.map(buffer)
  for key, direction in pairs(KEYS) do
    local command = ("<Cmd>lua require('reel.navigation').go(%d)<CR>"):format(direction)
    for _, mode in ipairs { 'n', 'x', 'o' } do
      vim.api.nvim_buf_set_keymap(buffer, mode, key, command, { noremap = true, silent = true })
    end
  end
end

return M
