--- The queue of pushes: each is stored at once and handled later, in the order of arrival.
---
--- Neovim runs a push wherever it happens to wait, even inside a call. A handler that made a call from there would
--- close the channel. So handlers run from this queue, which one scheduled function drains.

local errors = require 'reel.errors'

local M = { handler = nil }

local queue, first, last = {}, 1, 0
local scheduled = false

local function drain()
  scheduled = false
  while first <= last do
    local push = queue[first]
    queue[first] = nil
    first = first + 1
    local ok, problem = pcall(M.handler, push.link, push.name, push.params)
    if not ok then
      errors.show(problem)
    end
  end
end

--- Return what the daemon is to run in Neovim for each push of a connection.
function M.notify(link)
  return { 'nvim_exec_lua', ("require('reel.inbox').take(%d, ...)"):format(link) }
end

--- Store a push. `link` is the number of the connection: a push of an earlier connection is not for the current one.
function M.take(link, name, params)
  last = last + 1
  queue[last] = { link = link, name = name, params = params }
  if not scheduled then
    scheduled = true
    vim.schedule(drain)
  end
end

return M
