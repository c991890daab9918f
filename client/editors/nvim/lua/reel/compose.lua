--- Compose buffers, reel-compose://NAME: a message is written in a buffer, and :write sends it.

local calls = require 'reel.calls'
local errors = require 'reel.errors'
local sending = require 'reel.sending'

local M = {}

--- Send the text of a buffer. It waits for the reply, so that :wq closes the window only after it. If that fails, the
--- buffer keeps its text and stays modified.
local function write(buffer, conversation)
  local text = table.concat(vim.api.nvim_buf_get_lines(buffer, 0, -1, false), '\n')
  local problem, line = calls.await('add', function(done)
    sending.send(conversation, text, done)
  end)
  if problem then
    return errors.show(problem)
  end
  vim.api.nvim_buf_set_lines(buffer, 0, -1, false, {})
  vim.bo[buffer].modified = false
  vim.api.nvim_echo({ { line } }, true, {})
end

--- Show the compose buffer of a conversation in a window below; text that was not sent is still in it.
function M.open(conversation)
  local buffer = vim.fn.bufadd('reel-compose://' .. conversation.name)
  local window = vim.fn.bufwinid(buffer)
  if window ~= -1 then
    return vim.api.nvim_set_current_win(window)
  end
  local new = not vim.api.nvim_buf_is_loaded(buffer)
  vim.bo[buffer].buftype = 'acwrite'
  vim.bo[buffer].bufhidden = 'hide'
  vim.cmd('silent botright sbuffer ' .. buffer)
  vim.api.nvim_win_set_height(0, math.min(12, math.floor(vim.o.lines / 3)))
  if new then
    vim.bo[buffer].filetype = 'markdown'
    vim.b[buffer].reel_conversation = conversation.buffer
    vim.api.nvim_clear_autocmds { event = 'BufWriteCmd', buffer = buffer } -- :bdelete leaves it
    vim.api.nvim_create_autocmd('BufWriteCmd', {
      buffer = buffer,
      callback = function()
        write(buffer, conversation)
      end,
    })
  end
  vim.api.nvim_echo({ { ('To %s: :write sends this buffer'):format(conversation.name) } }, false, {})
end

return M
