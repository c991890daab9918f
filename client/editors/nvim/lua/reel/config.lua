--- The options that the user has set.

local errors = require 'reel.errors'

local M = {
  --- The path of the socket; nil: the daemon's own default.
  socket = nil,
  --- The program that starts the daemon.
  command = 'reel',
}

local KNOWN = { socket = true, command = true }

--- Set options. Raises, and sets none, if one is unknown or is not a string.
function M.set(options)
  for name, value in pairs(options) do
    if not KNOWN[name] then
      error(errors.text('invalid_params', ('setup: no option %s; there are command and socket'):format(name)), 0)
    end
    if type(value) ~= 'string' then
      error(errors.text('invalid_params', ('setup: %s must be a string, not %s'):format(name, vim.inspect(value))), 0)
    end
  end
  for name, value in pairs(options) do
    M[name] = value
  end
end

return M
