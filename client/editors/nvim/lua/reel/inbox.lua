--- What the daemon pushes: taken in at once, handled later, in the order in which it came.
---
--- Neovim hands a push over wherever it happens to wait, also inside a call. A handler that called back from there
--- would close the channel; so all of them run from one queue, which one scheduled function drains.

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

--- The code that the daemon has run for each push of a link.
function M.notify(link)
  return { 'nvim_exec_lua', ("require('reel.inbox').take(%d, ...)"):format(link) }
end

--- Take a push in. `link` counts connections: what an earlier one left behind is told apart.
function M.take(link, name, params)
  last = last + 1
  queue[last] = { link = link, name = name, params = params }
  if not scheduled then
    scheduled = true
    vim.schedule(drain)
  end
end

return M
