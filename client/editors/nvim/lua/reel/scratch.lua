--- Buffers that show something and are not files: their lines, options and keys.

local M = {}

--- Replace the lines of a buffer that the user cannot change, from one row up to another; -1 is the end.
function M.set_lines(buffer, first, last, lines)
  vim.bo[buffer].modifiable = true
  vim.api.nvim_buf_set_lines(buffer, first, last, false, lines)
  vim.bo[buffer].modifiable = false
  vim.bo[buffer].modified = false
end

--- Prepare a buffer with a list.
---
--- `bufhidden` is the option, and `keys` has the command of each key; q closes the window.
function M.prepare_list(buffer, bufhidden, keys)
  for name, value in pairs { buftype = 'nofile', bufhidden = bufhidden, swapfile = false, modeline = false } do
    vim.bo[buffer][name] = value
  end
  keys.q = '<Cmd>silent! close<CR>'
  for key, command in pairs(keys) do
    vim.api.nvim_buf_set_keymap(buffer, 'n', key, command, { noremap = true, silent = true, nowait = true })
  end
end

return M
