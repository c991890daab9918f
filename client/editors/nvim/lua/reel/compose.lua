--- Compose buffers, reel-compose://NAME: a message is written in a buffer, and :write sends it.

local calls = require 'reel.calls'
local errors = require 'reel.errors'
local sending = require 'reel.sending'

local M = {}

local SCHEME = 'reel-compose://'

local composing = {} -- the conversation that each buffer composes a message to

--- Close the windows of a buffer whose text was sent, unless it has a new one or no other window is left.
local function close(buffer)
  for _, window in ipairs(vim.fn.win_findbuf(buffer)) do
    if not vim.bo[buffer].modified then
      pcall(vim.api.nvim_win_close, window, false)
    end
  end
end

--- Send the text of a buffer, and close its window. It waits for the reply, so that :wq closes the window only after it.
--- If that fails, the buffer keeps its text and stays modified.
local function send(buffer, lines)
  local problem, line = calls.await('add', function(done)
    sending.send(composing[buffer], table.concat(lines, '\n'), done)
  end)
  if problem then
    return errors.show(problem)
  end
  vim.api.nvim_buf_set_lines(buffer, 0, -1, false, {})
  vim.bo[buffer].modified = false
  vim.schedule(function() -- after :wq, which closes the current window itself, whichever that is
    close(buffer)
  end)
  vim.api.nvim_echo({ { line } }, true, {})
end

--- Write lines of a buffer to a file. With :saveas, the buffer has the name of the file already, and composes no more.
local function save(buffer, lines, path)
  local ok = pcall(vim.fn.writefile, lines, path)
  if not ok then
    return errors.show(errors.new('storage', ('cannot write %s'):format(path)))
  end
  if vim.api.nvim_buf_get_name(buffer) == path then
    composing[buffer] = nil
    vim.bo[buffer].modified = false
  end
  vim.api.nvim_echo({ { ('"%s" written; nothing sent'):format(path) } }, true, {})
end

--- Send a buffer; with :write FILE, write it to that file instead.
local function write(event)
  local lines = vim.api.nvim_buf_get_lines(event.buf, 0, -1, false)
  local what = vim.startswith(event.match, SCHEME) and send or save
  what(event.buf, lines, event.match)
end

--- Return the compose buffer of a conversation. It stays with that conversation, whatever name this gets.
local function buffer_of(conversation)
  for buffer, to in pairs(composing) do
    if to.agent == conversation.agent and vim.api.nvim_buf_is_loaded(buffer) then
      return buffer
    end
  end
  local buffer = vim.fn.bufadd(SCHEME .. conversation.name)
  if composing[buffer] and vim.bo[buffer].modified then -- a message to another conversation, which had the name before
    return vim.fn.bufadd(SCHEME .. conversation.agent)
  end
  return buffer
end

local function prepare(buffer, conversation)
  vim.bo[buffer].filetype = 'markdown'
  vim.api.nvim_clear_autocmds { event = 'BufWriteCmd', buffer = buffer } -- :bdelete leaves it
  vim.api.nvim_create_autocmd('BufWriteCmd', { buffer = buffer, callback = write })
  composing[buffer] = conversation
end

--- Show the compose buffer of a conversation in a window below; text that was not sent is still in it.
function M.open(conversation)
  local buffer = buffer_of(conversation)
  local window = vim.fn.bufwinid(buffer)
  local is_new = composing[buffer] ~= conversation or not vim.api.nvim_buf_is_loaded(buffer)
  vim.bo[buffer].buftype = 'acwrite'
  vim.bo[buffer].bufhidden = 'hide'
  if window ~= -1 then
    vim.api.nvim_set_current_win(window)
  else
    vim.cmd('silent botright sbuffer ' .. buffer)
    vim.api.nvim_win_set_height(0, math.min(12, math.floor(vim.o.lines / 3)))
  end
  if is_new then
    prepare(buffer, conversation)
  end
  vim.api.nvim_echo({ { ('To %s: :write sends this buffer'):format(conversation.name) } }, false, {})
end

--- Return the conversation that a buffer composes a message to; nil if it composes none.
function M.conversation(buffer)
  return composing[buffer]
end

return M
