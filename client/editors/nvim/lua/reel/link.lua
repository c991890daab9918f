--- The connection to the daemon: one for the whole editor. It is opened when it is first needed, and again after a loss
--- as long as a listener needs it.
---
--- States: down; opening (a daemon is being started, or has not replied to the greeting); up. Neovim does not report
--- that a channel was closed, so a timer checks.

local address = require 'reel.address'
local config = require 'reel.config'
local environment = require 'reel.environment'
local errors = require 'reel.errors'
local inbox = require 'reel.inbox'

local M = {
  number = 0, -- of the connection; see reel.inbox
  server = nil, -- the result of hello
}

local CHECK_MS, GREETING_MS = 200, 10000
local FIRST_RETRY_MS, LAST_RETRY_MS = 100, 2000 -- each is twice as long as the one before
local PROTOCOL = 1
local GREETING = 'hello' -- the token of the greeting; those of calls are integers

local state, channel, waiting, listeners = 'down', nil, {}, {}
local retry_ms = FIRST_RETRY_MS
local watch = vim.loop.new_timer()
local greeting_timeout = vim.loop.new_timer()

function M.is_up()
  return state == 'up'
end

local function settle(problem)
  local callbacks = waiting
  waiting = {}
  for _, done in ipairs(callbacks) do
    local ok, failure = pcall(done, problem)
    if not ok then
      errors.show(failure)
    end
  end
end

--- Add a listener: `up()` is called when the connection is open, `down(problem)` when it was lost. `needed()` returns
--- whether to open it again.
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

local function retry()
  if state == 'down' and needed() then
    M.connect(function() end, { start = false })
  end
end

--- Go down; try to come back if a listener needs the connection.
local function stop(problem)
  local was_up = state == 'up'
  greeting_timeout:stop()
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
    watch:start(retry_ms, 0, vim.schedule_wrap(retry))
    retry_ms = math.min(2 * retry_ms, LAST_RETRY_MS)
  end
end

local function check()
  if channel and not vim.api.nvim_get_chan_info(channel).id then
    stop(errors.new('not_running', 'the daemon went away; waiting for it to come back'))
  end
end

--- Send a notification, and return whether it went out. If it did not, `check` notices as well.
function M.notify(method, ...)
  return channel ~= nil and pcall(vim.rpcnotify, channel, method, ...)
end

local function greet(path)
  local version = vim.version()
  M.number = M.number + 1
  watch:start(CHECK_MS, CHECK_MS, vim.schedule_wrap(check))
  greeting_timeout:start(GREETING_MS, 0, vim.schedule_wrap(function()
    if state == 'opening' then
      stop(errors.new('not_running', ('the daemon on %s does not answer'):format(path)))
    end
  end))
  -- This goes first and alone, so that the reply to the greeting comes as a push even if it is an error.
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

--- Take the reply to the greeting, and return whether it was one.
function M.greeted(reply)
  if reply.token ~= GREETING or state ~= 'opening' then
    return false
  end
  if reply.error then
    stop(reply.error)
    return true
  end
  greeting_timeout:stop()
  state, M.server, retry_ms = 'up', reply.result, FIRST_RETRY_MS
  for _, listener in ipairs(listeners) do
    listener.up()
  end
  settle(nil)
  return true
end

local open

local function start(path)
  local output = {}
  local function on_stderr(_, lines)
    vim.list_extend(output, lines)
  end
  local function on_exit(_, status)
    if status == 0 then
      open(path, false)
    else
      local last = vim.trim(table.concat(output, '\n')):match '[^\n]*$':gsub('^reel: ([a-z_]+: )', '')
      local why = last ~= '' and last or ('%s start ended with status %d'):format(config.command, status)
      stop(errors.new('not_running', ('no daemon answers on %s: %s'):format(path, why)))
    end
  end
  local ok = vim.fn.executable(config.command) == 1
    and pcall(vim.fn.jobstart, { config.command, 'start', '--unless-stopped' }, {
      on_stderr = on_stderr,
      on_exit = on_exit,
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

--- Connect, and start the daemon if it is not running.
--- @param done function called with an error or nil; at once if there is a connection
--- @param options table|nil {start = false}: do not start the daemon
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
