--- What other plug-ins and init.lua use; everything else in lua/reel is the plug-in's own. See :help reel-lua.

local M = {}

--- Set options; to call it is optional.
--- @param options table|nil {socket = path, command = what runs `reel`}
function M.setup(options)
  require('reel.config').set(options or {})
end

--- Connect, and start the daemon where it does not run; returns at once.
--- @param done function|nil called with an error or nil
function M.connect(done)
  require('reel.calls').connect(done or require('reel.errors').show)
end

--- Call a method and wait for its result.
--- @param method string
--- @param params table|nil by position, or by name; a map as the last of a list holds named ones
--- @param patience number|nil milliseconds, 30,000 if left out
--- @return table the result; raises one line `name: what and where`
function M.call(method, params, patience)
  return require('reel.calls').wait(method, params, patience)
end

--- Call a method and go on.
--- @param done function|nil called with (nil, result) or with ({code, name, message, data})
function M.call_async(method, params, done)
  require('reel.calls').send(method, params, done or function(problem)
    if problem then
      require('reel.errors').show(problem)
    end
  end)
end

--- Follow one agent or all; goes on by itself after the daemon was away, each event once and in order.
--- @param options table {agent =, since =, view =, kinds =}, as in the protocol
--- @param handler function called with (name, push): begin, event, draft, reset, lost, error
--- @return function that ends it
function M.subscribe(options, handler)
  return require('reel.following').open(options, handler)
end

return M
