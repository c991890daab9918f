--- The connection to the daemon: one for the whole editor. It is made when it is first needed, and made again when it
--- was lost and somebody still needs it.
---
--- States: down, opening (a daemon is being started, or has not greeted back yet), up. Neovim does not say when a
--- channel was closed, so that is looked for.

local address = require 'reel.address'
local config = require 'reel.config'
local environment = require 'reel.environment'
local errors = require 'reel.errors'
local inbox = require 'reel.inbox'

local M = {
  number = 0, -- of the connection; see reel.inbox
  server = nil, -- what hello answered
}

local LOOK_MS, AGAIN_MS, GREETING_MS = 200, 250, 10000
local PROTOCOL = 1
local GREETING = 'hello' -- a token that no call has: theirs are integers

local state, channel, waiting, listeners = 'down', nil, {}, {}
local watch = vim.loop.new_timer()
local patience = vim.loop.new_timer()

function M.is_up()
  return state == 'up'
end

local function settle(problem)
  local told = waiting
  waiting = {}
  for _, done in ipairs(told) do
    local ok, failure = pcall(done, problem)
    if not ok then
      errors.show(failure)
    end
  end
end

--- Have `up()` called when there is a connection, `down(problem)` when it was lost; `needed()` says whether to come back.
function M.listen(listener)
  table.insert(listeners, listener)
end

local function needed()
  for _, listener in ipairs(listeners) do
    if listener.needed() then
      return true
    end
  end
  return false
end

local function again()
  if state == 'down' and needed() then
    M.connect(function() end, { start = false })
  end
end

--- Be down; come back if anybody needs it.
local function stop(problem)
  local was_up = state == 'up'
  patience:stop()
  watch:stop()
  if channel then
    pcall(vim.fn.chanclose, channel)
  end
  state, channel, M.server = 'down', nil, nil
  if was_up then
    for _, listener in ipairs(listeners) do
      listener.down(problem)
    end
  end
  settle(problem)
  if state == 'down' and needed() then
    watch:start(AGAIN_MS, 0, vim.schedule_wrap(again))
  end
end

local function look()
  if channel and not vim.api.nvim_get_chan_info(channel).id then
    stop(errors.new('not_running', 'the daemon went away; waiting for it to come back'))
  end
end

--- Send a notification; whether it went out. That it did not is found out by `look`, too.
function M.notify(method, ...)
  return channel ~= nil and pcall(vim.rpcnotify, channel, method, ...)
end

local function greet(path)
  local version = vim.version()
  M.number = M.number + 1
  watch:start(LOOK_MS, LOOK_MS, vim.schedule_wrap(look))
  patience:start(GREETING_MS, 0, vim.schedule_wrap(function()
    if state == 'opening' then
      stop(errors.new('not_running', ('the daemon on %s does not answer'):format(path)))
    end
  end))
  -- Apart, so that the answer comes as we want it even where it is an error.
  M.notify('hello', { notify = inbox.notify(M.number) })
  M.notify('call_async', {
    token = GREETING,
    method = 'hello',
    params = {
      client = { name = 'nvim', version = ('%d.%d.%d'):format(version.major, version.minor, version.patch) },
      protocol = { min = PROTOCOL, max = PROTOCOL },
    },
  })
end

--- Take the answer to the greeting; whether it was one.
function M.greeted(reply)
  if reply.token ~= GREETING or state ~= 'opening' then
    return false
  end
  if reply.error then
    stop(reply.error)
    return true
  end
  patience:stop()
  state, M.server = 'up', reply.result
  for _, listener in ipairs(listeners) do
    listener.up()
  end
  settle(nil)
  return true
end

local open

local function start(path)
  local said = {}
  local function hear(_, lines)
    vim.list_extend(said, lines)
  end
  local function ended(_, status)
    if status == 0 then
      open(path, false)
    else
      local last = vim.trim(table.concat(said, '\n')):match '[^\n]*$':gsub('^reel: ([a-z_]+: )', '')
      local why = last ~= '' and last or ('%s start ended with status %d'):format(config.command, status)
      stop(errors.new('not_running', ('no daemon answers on %s: %s'):format(path, why)))
    end
  end
  local ok = vim.fn.executable(config.command) == 1
    and pcall(vim.fn.jobstart, { config.command, 'start', '--unless-stopped' }, {
      on_stderr = hear,
      on_exit = ended,
      env = { REEL_SOCKET = path, PYTHONPATH = environment.python_path() },
    })
  if not ok then
    stop(errors.new(
      'not_running',
      ('no daemon answers on %s, and there is no command %s to start one; see :checkhealth reel'):format(
        path,
        config.command
      )
    ))
  end
end

function open(path, may_start)
  local wrong = address.problem(path)
  if wrong then
    return stop(errors.new('not_running', wrong))
  end
  local ok, opened = pcall(vim.fn.sockconnect, 'pipe', path, { rpc = true })
  if ok and opened > 0 then
    channel = opened
    greet(path)
  elseif may_start then
    start(path)
  else
    stop(errors.new('not_running', ('no daemon answers on %s; start one with: reel start'):format(path)))
  end
end

--- Be connected, and start the daemon where it does not run.
--- @param done function called with an error or nil, at once where we are connected
--- @param options table|nil {start = false} starts none
function M.connect(done, options)
  if state == 'up' then
    return done(nil)
  end
  table.insert(waiting, done)
  if state == 'down' then
    state = 'opening'
    watch:stop()
    open(address.socket(), not (options and options.start == false))
  end
end

return M
