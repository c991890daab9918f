--- What the user has set.

local errors = require 'reel.errors'

local M = {
  --- The path of the socket; nil: as the daemon has it.
  socket = nil,
  --- What runs `reel`, to start the daemon with.
  command = 'reel',
}

local KNOWN = { socket = true, command = true }

--- Take options over; one that there is not, or that is no string, is refused before any is taken.
function M.set(options)
  for name, value in pairs(options) do
    if not KNOWN[name] then
      error(errors.text('invalid_params', ('setup: no option %s; there are command and socket'):format(name)), 0)
    end
    if type(value) ~= 'string' then
      error(errors.text('invalid_params', ('setup: %s: expected a string'):format(name)), 0)
    end
  end
  for name, value in pairs(options) do
    M[name] = value
  end
end

return M
