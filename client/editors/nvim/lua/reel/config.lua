--- The options that the user has set.

local errors = require 'reel.errors'

local M = {
  --- The path of the socket; nil: the daemon's own default.
  socket = nil,
  --- The program that starts the daemon.
  command = 'reel',
  --- What shows the conversations to choose from; a name in reel.picker.
  picker = 'buffer',
  --- The command that lets a model answer: a list, or a string for the shell; nil: that program with `ask`.
  ask = nil,
}

local function is_string(value)
  return type(value) == 'string', 'a string'
end

local function is_picker(value)
  local names = require('reel.picker').names()
  return vim.tbl_contains(names, value), 'one of ' .. table.concat(names, ', ')
end

local function is_command(value)
  local is_list = type(value) == 'table' and type(value[1]) == 'string'
  return is_list or type(value) == 'string', 'a string or a list of strings'
end

local CHECKS = { ask = is_command, command = is_string, picker = is_picker, socket = is_string }

local function invalid(problem, ...)
  error(errors.text('invalid_params', 'setup: ' .. problem:format(...)), 0)
end

--- Set options. Raises, and sets none, if one is unknown or has a value of the wrong kind.
function M.set(options)
  for name, value in pairs(options) do
    if not CHECKS[name] then
      invalid('no option %s; there are ask, command, picker and socket', name)
    end
    local fits, expected = CHECKS[name](value)
    if not fits then
      invalid('%s must be %s, not %s', name, expected, vim.inspect(value))
    end
  end
  for name, value in pairs(options) do
    M[name] = value
  end
end

return M
