--- Calls and their replies. A call is the notification `call_async`, its reply the push `reply`, so the editor never
--- blocks.

local errors = require 'reel.errors'
local inbox = require 'reel.inbox'
local link = require 'reel.link'
local values = require 'reel.values'

local M = {
  -- Callers use this one, not reel.link's: only with this file loaded is the reply to the greeting heard.
  connect = link.connect,
  on_push = function() end,
}

local TIMEOUT_MS = 30000
local STEP_MS = 20
local INTERRUPTED = -2 -- what vim.wait returns after CTRL-C
local pending, token = {}, 0

local function transmit(number, call)
  pending[number] = call
  if link.notify('call_async', { token = number, method = call.method, params = call.params }) then
    call.sent = call.sent + 1
  end
end

local function finish(reply)
  local call = pending[reply.token]
  pending[reply.token] = nil
  if call then
    call.done(reply.error, reply.result)
  end
end

local function fail(number)
  local call = pending[number]
  pending[number] = nil
  local check = call.repeatable and '; check whether it was applied' or ''
  call.done(errors.new('not_running', ('the daemon went away before it answered %s%s'):format(call.method, check)))
end

local function fail_remaining()
  if not link.is_up() then
    vim.tbl_map(fail, vim.tbl_keys(pending))
  end
end

--- Fail the calls that the lost connection will not answer, but for commands that were sent once: their key makes it safe
--- to repeat them. See docs/editors.md, "What is repeated after a lost connection".
local function on_down()
  for number, call in pairs(vim.tbl_extend('force', pending, {})) do -- `fail` changes it
    if not call.repeatable or call.sent > 1 then
      fail(number)
    end
  end
  vim.defer_fn(fail_remaining, TIMEOUT_MS)
end

local function on_up()
  local numbers = vim.tbl_keys(pending)
  table.sort(numbers)
  for _, number in ipairs(numbers) do
    transmit(number, pending[number])
  end
end

link.listen {
  up = on_up,
  down = on_down,
  needed = function()
    return next(pending) ~= nil
  end,
}

local function enqueue(call)
  token = token + 1
  local number = token
  link.connect(function(problem)
    if problem then
      return call.done(problem)
    end
    transmit(number, call)
  end)
end

--- Call a method; `done(problem, result)` is called later, once.
function M.send(method, params, done)
  enqueue { method = method, params = params or {}, done = done, sent = 0 }
end

local function key()
  return ('nvim-%d-%d-%d'):format(vim.loop.os_getpid(), vim.loop.hrtime(), math.random(0, 2 ^ 30))
end

--- Call a command that writes, with a key of its own: it is applied once, even if the daemon is killed meanwhile.
function M.command(method, named, done)
  local params = vim.tbl_extend('error', named, { key = key() })
  enqueue { method = method, params = params, done = done, sent = 0, repeatable = true }
end

--- Wait until a call is answered; meanwhile the editor handles events.
--- @param method string its name, for the error
--- @param start function starts the call; it is called with a callback `done(problem, result)`
--- @return table|nil, table|nil the problem, and the result
function M.await(method, start, timeout)
  local answered, problem, result = false, nil, nil
  start(function(...)
    answered, problem, result = true, ...
  end)
  timeout = timeout or TIMEOUT_MS
  local _, why = vim.wait(timeout, function()
    return answered
  end, STEP_MS)
  if not answered then
    local interrupted = why == INTERRUPTED
    local within = interrupted and '' or (' within %d ms'):format(timeout)
    return errors.new(interrupted and 'cancelled' or 'timeout', ('no answer to %s%s'):format(method, within))
  end
  return problem, result
end

--- Call a method and wait for its result. Raises the error as one line.
function M.wait(method, params, timeout)
  local problem, result = M.await(method, function(done)
    M.send(method, params, done)
  end, timeout)
  if problem then
    error(problem.message, 0)
  end
  return result
end

inbox.handler = function(number, name, params)
  if number ~= link.number then
    return
  end
  params = values.plain(params)
  if name ~= 'reply' then
    M.on_push(name, params)
  elseif not link.greeted(params) then
    finish(params)
  end
end

return M
