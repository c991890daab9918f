--- Calls and their answers. A call is the notification call_async, its answer the push reply: the editor never waits.

local errors = require 'reel.errors'
local inbox = require 'reel.inbox'
local link = require 'reel.link'
local values = require 'reel.values'

local M = {
  -- Here, because it is this file that hears the daemon's answer.
  connect = link.connect,
  on_push = function() end,
}

local PATIENCE_MS = 30000
local STEP_MS = 20
local INTERRUPTED = -2 -- what vim.wait gives after Ctrl-C
local pending, token = {}, 0

local function put(number, call)
  pending[number] = call
  if link.notify('call_async', { token = number, method = call.method, params = call.params }) then
    call.sent = call.sent + 1
  end
end

local function answer(reply)
  local call = pending[reply.token]
  pending[reply.token] = nil
  if call then
    call.done(reply.error, reply.result)
  end
end

local function refuse(number)
  local call = pending[number]
  pending[number] = nil
  local message = 'the daemon went away before it answered %s; see whether it was done'
  call.done(errors.new('not_running', message:format(call.method)))
end

local function refuse_those_left()
  if not link.is_up() then
    for _, number in ipairs(vim.tbl_keys(pending)) do
      refuse(number)
    end
  end
end

--- Forget what a lost connection will not answer. What has a key can be asked again, once: it is not done twice.
local function lost()
  for _, number in ipairs(vim.tbl_keys(pending)) do
    if not (pending[number].repeatable and pending[number].sent <= 1) then
      refuse(number)
    end
  end
  vim.defer_fn(refuse_those_left, PATIENCE_MS)
end

local function ask_again()
  local numbers = vim.tbl_keys(pending)
  table.sort(numbers)
  for _, number in ipairs(numbers) do
    put(number, pending[number])
  end
end

link.listen {
  up = ask_again,
  down = lost,
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
    put(number, call)
  end)
end

--- Call a method; `done(problem, result)` is called later, once.
function M.send(method, params, done)
  enqueue { method = method, params = params or {}, done = done, sent = 0 }
end

local function key()
  return ('nvim-%d-%d-%d'):format(vim.loop.os_getpid(), vim.loop.hrtime(), math.random(0, 2 ^ 30))
end

--- Call a command that writes, under a key of its own: it is done once, also where the daemon is killed meanwhile.
function M.command(method, named, done)
  local params = vim.tbl_extend('error', named, { key = key() })
  enqueue { method = method, params = params, done = done, sent = 0, repeatable = true }
end

--- Call a method and wait for its result; the editor goes on living meanwhile. Raises its error as one line.
function M.wait(method, params, patience)
  local answered, problem, result = false, nil, nil
  M.send(method, params, function(...)
    answered, problem, result = true, ...
  end)
  patience = patience or PATIENCE_MS
  local _, why = vim.wait(patience, function()
    return answered
  end, STEP_MS)
  if not answered then
    local interrupted = why == INTERRUPTED
    error(errors.text(interrupted and 'cancelled' or 'timeout', ('no answer to %s%s'):format(
      method,
      interrupted and '' or (' within %d ms'):format(patience)
    )), 0)
  end
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
    answer(params)
  end
end

return M
