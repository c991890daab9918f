--- The public functions, for init.lua and other plug-ins. Everything else in lua/reel is internal. See :help reel-lua.

local M = {}

--- Set options. Calling this is optional.
--- @param options table|nil {socket =, command =, picker =, ask =}; see :help reel-setup
function M.setup(options)
  require('reel.config').set(options or {})
end

--- Connect, and start the daemon if it is not running. Returns at once.
--- @param done function|nil called with an error or nil
function M.connect(done)
  require('reel.calls').connect(done or require('reel.errors').show)
end

--- Call a method and wait for its result.
--- @param method string
--- @param params table|nil by position, or by name; a table at the end of a list holds parameters by name
--- @param timeout number|nil in milliseconds; the default is 30,000
--- @return table the result; raises one line `name: what and where`
function M.call(method, params, timeout)
  return require('reel.calls').wait(method, params, timeout)
end

--- Call a method and return at once.
--- @param done function|nil called with (nil, result) or with ({code, name, message, data})
function M.call_async(method, params, done)
  require('reel.calls').send(method, params, done or function(problem)
    if problem then
      require('reel.errors').show(problem)
    end
  end)
end

--- Return the text for a status line about the conversation of the current buffer; '' if it has none.
function M.status()
  local conversation = require('reel.conversation').of(vim.api.nvim_get_current_buf())
  return conversation and require('reel.status').text(conversation) or ''
end

--- Follow one conversation, or all. After the daemon was away it continues by itself: each event comes once, in order.
--- @param options table {agent =, since =, view =, kinds =, at =}, as in the protocol
--- @param handler function called with (name, push): begin, event, lines, draft, reset, lost, error
--- @return function ends the subscription
function M.subscribe(options, handler)
  return require('reel.following').open(options, handler)
end

return M
